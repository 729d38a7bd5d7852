"""Two threads count to three each: it should be 6."""

import hunt_counter

total = hunt_counter.count(3)
print("total", total, flush=True)
