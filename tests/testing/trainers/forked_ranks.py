"""Run a function on N gloo ranks, each a process, and return the result of every rank."""

import pickle
import tempfile
import traceback
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import FileStore  # type: ignore[attr-defined]

CONTEXT = get_context("forkserver")
CONTEXT.set_forkserver_preload(["pytest", "torch._dynamo", "trainers.training.engine"])


def on_ranks(world: int, function: Callable[..., Any], *arguments: Any, victim: int | None = None) -> list[Any]:
    """Return function(*arguments) of every rank, in their order; raise AssertionError with a rank's traceback.

    `victim`: the function ends or stops this rank, which returns None.
    """
    with tempfile.TemporaryDirectory() as folder:
        pipes = [CONTEXT.Pipe(duplex=False) for _ in range(world)]
        processes = [
            CONTEXT.Process(
                target=_run, args=(rank, world, Path(folder) / "store", pipe[1], function, arguments, victim is None)
            )
            for rank, pipe in enumerate(pipes)
        ]
        for process, pipe in zip(processes, pipes, strict=True):
            process.start()
            pipe[1].close()
        try:
            return [None if rank == victim else _received(rank, pipe[0]) for rank, pipe in enumerate(pipes)]
        finally:
            for process in processes:
                process.kill()  # a stopped process would not handle SIGTERM
                process.join()


def _run(
    rank: int,
    world: int,
    store: Path,
    pipe: Connection,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    all_return: bool,
) -> None:
    torch.set_num_threads(1)
    try:
        dist.init_process_group("gloo", store=FileStore(str(store), world), rank=rank, world_size=world)
        result = function(*arguments)
        if all_return:
            dist.barrier()
        _send(pipe, True, result)
    except Exception:
        _send(pipe, False, traceback.format_exc())


def _send(pipe: Connection, is_well: bool, result: Any) -> None:
    # by value, because torch would share the memory of tensors, which ends with this process
    pipe.send_bytes(pickle.dumps((is_well, result)))


def _received(rank: int, pipe: Connection) -> Any:
    try:
        is_well, result = pickle.loads(pipe.recv_bytes())
    except EOFError:
        is_well, result = False, "the process ended without a result"
    assert is_well, f"rank {rank}: {result}"
    return result
