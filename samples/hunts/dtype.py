"""The sum of four weights: it should be 10."""

from array import array

import hunt_buffers

weights = memoryview(array("f", [1, 2, 3, 4, 0, 0, 0, 0]))[:4]
total = hunt_buffers.total(weights)
print("total", total, flush=True)
