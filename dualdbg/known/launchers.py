"""Programs that start the ranks of a job, and tell each which it is: known by their command lines. Pure."""

from __future__ import annotations

from pathlib import PurePath

# torchrun and what is built on it give RANK; Open MPI OMPI_COMM_WORLD_RANK; Hydra (MPICH, Intel MPI) PMI_RANK.
_PROGRAMS = frozenset(
    {
        *("torchrun", "accelerate", "deepspeed"),
        *("mpirun", "mpiexec", "orterun", "prterun", "mpiexec.openmpi", "mpirun.openmpi", "orted", "prted"),
        *("mpiexec.hydra", "mpiexec.mpich", "mpirun.mpich", "hydra_pmi_proxy"),
    }
)
_MODULES = frozenset(
    {
        *("torch.distributed.run", "torch.distributed.launch", "torch.distributed.launcher"),
        *("accelerate.commands.launch", "deepspeed.launcher.runner", "deepspeed.launcher.launch"),
    }
)


def is_launcher(command: str) -> bool:
    """Whether a process with this command line is one: the program, or the script or module that its Python runs."""
    program, *words = command.split() or [""]
    name = PurePath(program).name
    if not name.startswith("python"):
        return name in _PROGRAMS
    rest = iter(words)
    for word in rest:
        if word == "-m":
            return next(rest, None) in _MODULES
        if word in ("-X", "-W"):
            next(rest, None)
        elif not word.startswith("-"):
            return PurePath(word).name in _PROGRAMS
    return False
