"""One tensor."""

import torch
from publishing import publish, stop

tensor = torch.arange(6.0).reshape(2, 3)
publish({"repr": repr(tensor)}, tensor=tensor._cdata)
stop()
