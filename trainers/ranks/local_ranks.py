"""All ranks of a run as children of this process, on this machine.

A server process loads torch once and forks the ranks off, which on a laptop saves seconds per rank. All are in this
process's group; each rank leaves when this process is gone, however it went. A signal to this process that asks for a
pause is passed on, again and again: a rank that has just been started may not listen yet.
"""

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import connection, forkserver, get_context, parent_process
from multiprocessing.process import BaseProcess
from types import FrameType

from contract.folder.job_identity import PAUSED
from contract.folder.rank_failure import Fall
from contract.folder.run_folder import RunFolder
from contract.lifecycle.failure import FailureKind
from trainers.ranks import rank_process as rank
from trainers.ranks.rank_info import Place, here
from trainers.recovery.preemption_signal import ASKING, Notice, leave_at_once

# torch.optim loads torch._dynamo when it makes its first optimizer, most of a second for each rank
PRELOAD = ["torch._dynamo", "trainers.training.engine"]
GRACE_S = 5.0  # for the other ranks to see that one fell, and to say so
PASS_ON_S = 0.5


def carry_out(folder: RunFolder, attempt: int) -> int:
    """Run every rank to its end and return the job's exit status."""
    run, asked = folder.read_spec(), _Asked()
    world = run.resources.world
    context = get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    processes = [
        context.Process(target=_live, args=(folder, attempt), kwargs={"place": here(r, world)}) for r in range(world)
    ]
    try:
        asked.start_server()
        for process in processes:
            process.start()
        status = _watch(folder, attempt, processes, asked, goes_on=run.rule.survives_workers)
        return 128 + signal.SIGINT if status and signal.SIGINT in asked.signals else status
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    finally:
        _end(processes)


class _Asked:
    """Which signals asked for a pause; Ctrl-C is one of them, and pressed twice it ends the job at once."""

    def __init__(self) -> None:
        self.signals: list[int] = []
        self.passed_on: set[int] = set()  # ranks
        self.is_main = threading.current_thread() is threading.main_thread()
        self._set(self._hear)

    @property
    def is_pressing(self) -> bool:
        return set(self.signals) != {signal.SIGUSR2}

    def start_server(self) -> None:
        """Start the ranks' server with deaf ears: it knows how they end, so a signal to the group must pass it by.

        A program inherits what its parent ignores, and nothing else of what the parent does about signals.
        """
        self._set(signal.SIG_IGN)
        forkserver.ensure_running()
        self._set(self._hear)

    def _hear(self, signum: int, _: FrameType | None) -> None:
        if signum == signal.SIGINT and signum in self.signals:
            raise KeyboardInterrupt
        self.signals.append(signum)

    def _set(self, handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
        if self.is_main:
            for signum in (*ASKING, signal.SIGINT):
                signal.signal(signum, handler)


def _live(folder: RunFolder, attempt: int, *, place: Place) -> None:
    # Ctrl-C is for the parent to hear; it ends its ranks
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    notice = Notice(leave_at_once)
    notice.listen()
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    rank.live(folder, attempt, place, notice=notice)


def _leave_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _watch(folder: RunFolder, attempt: int, processes: Sequence[BaseProcess], asked: _Asked, *, goes_on: bool) -> int:
    """Wait until all ranks have left, or one has fallen and the others have had their time to say so.

    `goes_on`: only the first rank's fall ends the others.
    """
    deadline: float | None = None
    running = dict(enumerate(processes))
    while running and (deadline is None or time.monotonic() < deadline):
        # a signal's handler runs between two looks: the wait goes on after it
        connection.wait([process.sentinel for process in running.values()], PASS_ON_S)
        for number, process in list(running.items()):
            if process.exitcode is None:
                _pass_on(number, process, asked)
                continue
            del running[number]
            if process.exitcode not in (0, PAUSED):
                # first: the others wait for this word, and a disk may take its time
                _note_silent_fall(folder, attempt, rank=number, status=process.exitcode)
                if not goes_on or number == 0:
                    deadline = deadline or time.monotonic() + GRACE_S
    if deadline is not None:
        return rank.FALLEN
    return PAUSED if any(process.exitcode == PAUSED for process in processes) else 0


def _pass_on(number: int, process: BaseProcess, asked: _Asked) -> None:
    """Tell a rank what this process was told, then again that it is meant: SIGUSR2, repeated, does not press."""
    if asked.signals and process.pid is not None:
        is_first = number not in asked.passed_on
        asked.passed_on.add(number)
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGTERM if is_first and asked.is_pressing else signal.SIGUSR2)


def _note_silent_fall(folder: RunFolder, attempt: int, *, rank: int, status: int) -> None:
    """Note the fall of a rank that could not do so itself, because it was killed."""
    if any(fall.rank == rank for fall in folder.falls(attempt)):
        return
    cause = f"killed by {signal.Signals(-status).name}" if status < 0 else f"left with status {status}"
    host, kind = socket.gethostname(), FailureKind.SIGNAL if status < 0 else FailureKind.UNKNOWN
    reason = f"rank {rank} on {host}: {cause}"
    folder.note_fall(attempt, Fall(at=time.time(), rank=rank, host=host, reason=reason, kind=kind))


def _end(processes: Sequence[BaseProcess]) -> None:
    for process in processes:
        if process.pid is not None and process.exitcode is None:
            process.kill()  # SIGTERM would only ask it to pause
    for process in processes:
        if process.pid is not None:
            process.join(GRACE_S)
