"""Variables of a module, a class body and functions at a native stop; prints what repr says of some of them."""

import dataclasses
import enum
import json

import torch


class Color(enum.Enum):
    RED = 1


@dataclasses.dataclass
class Point:
    x: int
    y: torch.Tensor


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)
        self.scale = 0.5


def inner(number, *rest, flag=True):
    words = ["a", "b"]
    return torch.randn(number), words, rest, flag


many = list(range(100000))
config = {"rate": 0.1, "layers": [1, 2, 3], "point": Point(3, torch.arange(4.0)), 7: "seven"}
model = Model()
chosen = Color.RED
matrix = torch.tensor([[1.5, float("nan")], [2.0, -1.0]])
print(
    json.dumps({name: repr(eval(name)) for name in ("config", "chosen", "matrix", "config['point'].y")}),
    flush=True,
)


class Body:
    member = "in a class body"
    result = inner(2, 3, flag=False)


torch.randn(1)
