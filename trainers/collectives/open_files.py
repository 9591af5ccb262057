"""The open files of a rank: its connections count as files, and a full mesh of thousands of ranks exceeds 1,024.

A rank raises its own soft limit as far as the hard limit allows. gloo connects every rank of a group with every other
when the group is made; where that does not fit on some rank, all ranks let gloo connect two ranks at their first
message. The ranks must agree, because the two kinds of mesh publish different addresses.
"""

import os
import resource
from typing import NamedTuple

from torch.distributed import Store  # type: ignore[attr-defined]  # not in torch's __all__

# per other rank: gloo's mesh of all ranks and of a second group, an own connection, a connection to rank 0's store
PER_RANK = 4
OTHER_FILES = 256  # libraries, logs, pipes to loader processes, images that several threads read at once
LEAST_OTHER_FILES = 96  # without loader processes
LAZY = "TORCH_GLOO_LAZY_INIT"  # environment variable of PyTorch, read when a group is made
SHORT_KEY = "files/short"  # in the store of the ranks: how many ranks cannot have the full mesh


class OpenFiles(NamedTuple):
    """The soft limit that a rank sets, and whether it cannot have a connection to every rank of every group."""

    soft: int
    is_short: bool


def plan_open_files(world: int, *, soft: int, hard: int) -> OpenFiles:
    """Return what a rank of `world` ranks does with its limits; a limit of -1 is none."""
    wanted = PER_RANK * (world - 1) + OTHER_FILES
    raised = max(soft, wanted if hard < 0 else min(wanted, hard)) if soft >= 0 else soft
    return OpenFiles(raised, is_short=0 <= raised < wanted)


def raise_open_files(rank: int, world: int) -> bool:
    """Raise this process's soft limit; return whether the full mesh still does not fit.

    Raise OSError on rank 0 if its limit is too low for one connection of each rank to its store.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    planned = plan_open_files(world, soft=soft, hard=hard)
    if planned.soft != soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (planned.soft, hard))
    if rank == 0 and 0 <= planned.soft < world + LEAST_OTHER_FILES:
        raise OSError(
            f"the limit of open files is {planned.soft}, but rank 0 of {world} ranks needs "
            f"{world + LEAST_OTHER_FILES}: raise the hard limit on its host (ulimit -Hn)"
        )
    return planned.is_short


def report_short(store: Store) -> None:
    """Tell all ranks that this rank cannot have the full mesh; call before the ranks meet."""
    store.add(SHORT_KEY, 1)


def choose_mesh(store: Store) -> bool:
    """Return whether gloo connects at the first message; all ranks call this after all have reported."""
    is_lazy = bool(store.check([SHORT_KEY]))
    if is_lazy:
        os.environ.setdefault(LAZY, "1")
    return is_lazy
