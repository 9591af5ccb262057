"""All ranks of a run as children of this process, on this machine.

A server process loads torch once and forks the ranks off, which on a laptop saves seconds per rank. All are in this
process's group, so a signal to the group ends the job; and each rank leaves when this process is gone, however it went.
"""

import os
import signal
import socket
import threading
import time
from collections.abc import Sequence
from multiprocessing import connection, get_context, parent_process
from multiprocessing.process import BaseProcess

from contract.folder import Fall, RunFolder
from trainers import rank
from trainers.place import Place, here

# torch.optim loads torch._dynamo when it makes its first optimizer, most of a second for each rank
PRELOAD = ["torch._dynamo", "trainers.engine"]
GRACE_S = 5.0  # for the other ranks to see that one fell, and to say so


def carry_out(folder: RunFolder, attempt: int) -> int:
    """Run every rank to its end and return the job's exit status."""
    run = folder.read_spec()
    world = run.resources.world
    context = get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    processes = [
        context.Process(target=_live, args=(folder, attempt), kwargs={"place": here(r, world)}) for r in range(world)
    ]
    try:
        for process in processes:
            process.start()
        return _watch(folder, attempt, processes, goes_on=run.rule.survives_workers)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    finally:
        _end(processes)


def _live(folder: RunFolder, attempt: int, *, place: Place) -> None:
    # Ctrl-C is for the parent to hear; it ends its ranks
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    rank.live(folder, attempt, place)


def _leave_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _watch(folder: RunFolder, attempt: int, processes: Sequence[BaseProcess], *, goes_on: bool) -> int:
    """Wait until all ranks have left, or one has fallen and the others have had their time to say so.

    `goes_on`: only the first rank's fall ends the others.
    """
    deadline: float | None = None
    running = dict(enumerate(processes))
    while running and (deadline is None or time.monotonic() < deadline):
        left_s = None if deadline is None else deadline - time.monotonic()
        connection.wait([process.sentinel for process in running.values()], left_s)
        for number, process in list(running.items()):
            if process.exitcode is None:
                continue
            del running[number]
            if process.exitcode:
                if not goes_on or number == 0:
                    deadline = deadline or time.monotonic() + GRACE_S
                _note_silent_fall(folder, attempt, rank=number, status=process.exitcode)
    return 0 if deadline is None else 1


def _note_silent_fall(folder: RunFolder, attempt: int, *, rank: int, status: int) -> None:
    """Note the fall of a rank that could not do so itself, because it was killed."""
    if any(fall.rank == rank for fall in folder.falls(attempt)):
        return
    cause = f"killed by {signal.Signals(-status).name}" if status < 0 else f"left with status {status}"
    host = socket.gethostname()
    folder.note_fall(attempt, Fall(time.time(), rank, host, f"rank {rank} on {host}: {cause}", trace=""))


def _end(processes: Sequence[BaseProcess]) -> None:
    for process in processes:
        if process.pid is not None and process.exitcode is None:
            process.terminate()
    for process in processes:
        if process.pid is not None:
            process.join(GRACE_S)
        if process.pid is not None and process.exitcode is None:
            process.kill()
