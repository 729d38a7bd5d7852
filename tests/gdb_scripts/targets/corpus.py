"""The corpus of IValues on a stack, with what PyTorch prints for each: corpus.py LIBRARY_FOLDER SEED COUNT [KIND]."""

import sys

import torch
from publishing import publish, stop

torch.ops.load_library(sys.argv[1] + "/sample_corpus.so")
corpus = torch.ops.corpus
kind = sys.argv[4] if len(sys.argv) > 4 else "random"
if kind == "random":
    tensors = corpus.make(int(sys.argv[2]), int(sys.argv[3]))
    publish({"values": corpus.truth(), "tensors": [repr(tensor) for tensor in tensors]})
elif kind == "many":
    corpus.make_many(int(sys.argv[3]))
    publish()
else:
    corpus.make_awkward()
    publish()
before = corpus.use_counts()
stop()
corpus.stop()
assert corpus.use_counts() == before
