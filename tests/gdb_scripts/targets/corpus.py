"""Corpora of IValues on a stack, one after the other, with what PyTorch prints for each: LIBRARY_FOLDER CORPUS...

A corpus is SEED:COUNT, many:COUNT or awkward.
"""

import sys

import torch
from publishing import publish, stop

torch.ops.load_library(sys.argv[1] + "/sample_corpus.so")
corpus = torch.ops.corpus
published = []
for number, word in enumerate(sys.argv[2:]):
    kind, _, count = word.partition(":")
    more = {}
    if kind == "many":
        corpus.make_many(int(count))
    elif kind == "awkward":
        corpus.make_awkward()
    else:
        tensors = corpus.make(int(kind), int(count))
        more = {"values": corpus.truth(), "tensors": [repr(tensor) for tensor in tensors]}
    published.append(more)
    publish(published)
    before = corpus.use_counts()
    if number == 0:
        stop()
    corpus.stop()
    assert corpus.use_counts() == before
