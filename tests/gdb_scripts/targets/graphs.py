"""TorchScript graphs with what PyTorch prints for them; then a scripted and a traced function run."""

import warnings

import torch
from publishing import publish, stop

warnings.simplefilter("ignore")


@torch.jit.script
def loop(x, n: int, text: str):
    y = x
    for i in range(n):
        if i > 1:  # noqa: SIM108  (a prim::If is wanted)
            y = y + 2.5
        else:
            y = torch.cat([y, x], dim=0)[:2]
    return y, text + "\n'q'\""


@torch.jit.script
def containers(x: torch.Tensor, sizes: list[int], maybe: float | None, names: dict[str, int]):
    if maybe is not None:
        sizes.append(int(maybe))
    return x.reshape(sizes), names, [t + 1 for t in [x]]


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)

    def forward(self, x):
        return torch.relu(self.linear(x))


traced = torch.jit.trace(Model(), torch.ones(2, 2))
for _ in range(3):
    loop(torch.ones(2, 2), 3, "a")
graphs = {
    "loop": loop.graph,
    "containers": containers.graph,
    "traced": traced.graph,
    "inlined": traced.inlined_graph,
    "optimized": torch.jit.last_executed_optimized_graph(),
}
nodes = {name + "_first": next(graph.nodes()) for name, graph in graphs.items()}
values = {name + "_input": next(graph.inputs()) for name, graph in graphs.items()}
more = {
    "graphs": {name: str(graph) for name, graph in graphs.items()},
    "nodes": {name: str(node) for name, node in nodes.items()},
    "values": {name: value.debugName() for name, value in values.items()},
    "types": {name: str(value.type()) for name, value in values.items()},
}
publish(more, **{name: id(value) for name, value in {**graphs, **nodes, **values}.items()})
stop()
loop(torch.ones(2, 2), 2, "again")
traced(torch.ones(2, 2))
