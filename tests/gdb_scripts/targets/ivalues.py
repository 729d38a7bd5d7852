"""The values of the torch extension sample: what PyTorch prints for them, and then all of them on a stack."""

import sys

import torch
from publishing import publish, stop

torch.ops.load_library(sys.argv[1] + "/sample_values.so")
sample = torch.ops.sample
rows = zip(sample.value_names(), sample.value_tags(), sample.value_texts(), strict=True)
publish([list(row) for row in rows])
stop()
sample.stop_with_values()
future = torch.futures.Future()
future.set_result({"held": [1, 2.5]})
sample.hold(future)
