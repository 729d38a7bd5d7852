"""An instance of a class of the sample module: pybind_instance.py SAMPLES."""

import sys

from publishing import publish, stop

sys.path.insert(0, sys.argv[1])
import sample_pybind

vector = sample_pybind.Vec2(3, 4)
publish(vector=id(vector))
stop()
