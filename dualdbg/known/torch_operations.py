"""The operations of torch.distributed: their names in Python and in c10d, and the arguments that tell about them."""

from __future__ import annotations

# c10d::OpType (torch/csrc/distributed/c10d/Work.hpp) -> the function of torch.distributed.
OPERATIONS = {
    "BROADCAST": "broadcast",
    "ALLREDUCE": "all_reduce",
    "ALLREDUCE_COALESCED": "all_reduce_coalesced",
    "REDUCE": "reduce",
    "ALLGATHER": "all_gather",
    "_ALLGATHER_BASE": "all_gather_into_tensor",
    "ALLGATHER_COALESCED": "all_gather_coalesced",
    "GATHER": "gather",
    "SCATTER": "scatter",
    "REDUCE_SCATTER": "reduce_scatter",
    "_REDUCE_SCATTER_BASE": "reduce_scatter_tensor",
    "ALLTOALL_BASE": "all_to_all_single",
    "ALLTOALL": "all_to_all",
    "SEND": "send",
    "RECV": "recv",
    "RECVANYSOURCE": "recv",
    "BARRIER": "barrier",
}
# What gloo does in place of an operation that it does not have.
IN_PLACE_OF = {
    "all_gather_into_tensor": "all_gather",
    "reduce_scatter": "all_reduce",
    "reduce_scatter_tensor": "all_reduce",
}
# What the Flight Recorder calls operations otherwise.
RECORDED = {
    "_all_gather_base": "all_gather_into_tensor",
    "_reduce_scatter_base": "reduce_scatter_tensor",
    "all_reduce_barrier": "barrier",
}
# The libraries with a Flight Recorder, and the variable there that points to it. CUDAEvent has moved to c10.
FLIGHT_RECORDERS = (
    ("libtorch_cpu.so", "_ZZN4c10d14FlightRecorderIN3c105EventEE3getEvE8instance"),
    ("libtorch_cuda.so", "_ZZN4c10d14FlightRecorderIN3c104cuda9CUDAEventEE3getEvE8instance"),
    ("libtorch_cuda.so", "_ZZN4c10d14FlightRecorderIN2at4cuda9CUDAEventEE3getEvE8instance"),
)
# Functions of distributed_c10d.py and rendezvous.py whose frame means that the thread is in this operation.
FRAMES = {
    **{name: name for name in OPERATIONS.values()},
    "all_gather_single": "all_gather_into_tensor",
    "reduce_scatter_single": "reduce_scatter_tensor",
    "monitored_barrier": "monitored_barrier",
    "init_process_group": "init_process_group",
    "new_group": "new_group",
}
# The argument that names the other rank: by its rank in the world, or in the group.
PEERS = {"send": ("dst", "group_dst"), "recv": ("src", "group_src")}
# The arguments with the tensors, the telling one first.
TENSORS = ("tensor", "input_tensor", "input", "output_tensor", "output")
# Operations in which every rank of the group gives a tensor of the same type and size.
SAME_TENSORS = frozenset(
    ("all_reduce", "broadcast", "reduce", "all_gather_into_tensor", "reduce_scatter_tensor")
)
POINT_TO_POINT = frozenset(PEERS)
