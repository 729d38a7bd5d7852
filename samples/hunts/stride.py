"""The sum of the second column of a matrix with four: it should be 15."""

from array import array

import hunt_buffers

matrix = array("d", range(12))
column = memoryview(matrix)[1::4]
total = hunt_buffers.total(column)
print("total", total, flush=True)
