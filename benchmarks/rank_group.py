"""What each rank of a benchmark does: join the others over gloo, measure its task; rank 0 prints the result."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import FileStore  # type: ignore[attr-defined]  # not in torch's __all__


def run_rank(measure: Callable[[dict[str, Any]], Any]) -> None:
    """Call `measure` with the task in the environment variable TASK, on one thread, within the group of all ranks."""
    torch.set_num_threads(1)
    task = json.loads(os.environ["TASK"])
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    with group_of(Path(os.environ["STORE"]), rank, world):
        found = measure(task)
        dist.barrier()
        if rank == 0:
            print(json.dumps(found), flush=True)


@contextmanager
def group_of(store: Path, rank: int, world: int) -> Iterator[None]:
    """Join the group of all ranks over gloo, through the new file `store`; leave the group at the end."""
    dist.init_process_group("gloo", store=FileStore(str(store), world), rank=rank, world_size=world)
    yield
    dist.destroy_process_group()
