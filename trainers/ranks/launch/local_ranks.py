"""Run all ranks of a run on this machine, as children of this process.

A fork server loads torch once and forks the ranks, which saves seconds per rank. All processes belong to this process's
group, and each rank exits when this process ends for any reason. A signal to this process that asks for a pause is
forwarded repeatedly, because a rank that has just been started may not handle signals yet.
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

from contract.folder.job_identity import PAUSED_EXIT_CODE
from contract.folder.rank_failure import RankFailure
from contract.folder.run_folder import RunFolder
from contract.lifecycle.failure import FailureKind
from trainers.ranks import rank_process
from trainers.ranks.launch.labelled_output import LabelledOutput, RankOutput
from trainers.ranks.rank_info import RankInfo, local_rank_info
from trainers.recovery.preemption_signal import PAUSE_SIGNALS, PreemptionSignal, exit_now

# torch.optim loads torch._dynamo when it makes its first optimizer, which takes most of a second per rank
PRELOAD = ["torch._dynamo", "trainers.training.engine"]
GRACE_S = 5.0  # time for the other ranks to record their failures after the first one, or to end after rank 0
FORWARD_S = 0.5


def run_local_ranks(folder: RunFolder, attempt: int) -> int:
    """Run every rank to its end and return the job's exit status."""
    run, signals = folder.read_spec(), _PauseSignals()
    world = run.resources.world
    context = get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    output = LabelledOutput(world if world > 1 else 0, context)
    processes = [
        context.Process(
            target=_run_child,
            args=(folder, attempt),
            kwargs={"rank_info": local_rank_info(rank, world), "output": output.ranks[rank] if world > 1 else None},
        )
        for rank in range(world)
    ]
    try:
        signals.start_fork_server()
        for process in processes:
            process.start()
        output.start()
        status = _wait(folder, attempt, processes, signals, survives_workers=run.rule.survives_workers)
        return 128 + signal.SIGINT if status and signal.SIGINT in signals.received else status
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    finally:
        _kill(processes)
        output.end()


class _PauseSignals:
    """The received signals that ask for a pause. Ctrl-C is one of them; a second Ctrl-C ends the job at once."""

    def __init__(self) -> None:
        self.received: list[int] = []
        self.forwarded_to: set[int] = set()  # ranks
        self.is_main = threading.current_thread() is threading.main_thread()
        self._set_handler(self._receive)

    @property
    def is_urgent(self) -> bool:
        """Whether a signal other than SIGUSR2, Slurm's early warning, was received."""
        return set(self.received) != {signal.SIGUSR2}

    def start_fork_server(self) -> None:
        """Start the fork server with these signals ignored, because a signal to the group must not end the server.

        A child process inherits ignored signals, but no handlers.
        """
        self._set_handler(signal.SIG_IGN)
        forkserver.ensure_running()
        self._set_handler(self._receive)

    def _receive(self, signum: int, _: FrameType | None) -> None:
        if signum == signal.SIGINT and signum in self.received:
            raise KeyboardInterrupt
        self.received.append(signum)

    def _set_handler(self, handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
        if self.is_main:
            for signum in (*PAUSE_SIGNALS, signal.SIGINT):
                signal.signal(signum, handler)


def _run_child(folder: RunFolder, attempt: int, *, rank_info: RankInfo, output: RankOutput | None) -> None:
    if output:
        output.redirect()
    # the parent handles Ctrl-C and forwards a pause signal to its ranks
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    preemption = PreemptionSignal(exit_now)
    preemption.listen()
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    rank_process.run_rank(folder, attempt, rank_info, preemption=preemption)


def _exit_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _wait(
    folder: RunFolder,
    attempt: int,
    processes: Sequence[BaseProcess],
    signals: _PauseSignals,
    *,
    survives_workers: bool,
) -> int:
    """Wait until all ranks have exited, or until GRACE_S after a failure; return the exit status.

    `survives_workers`: only the failure of rank 0 ends the other ranks. Rank 0 ends after every rank that answers, so
    GRACE_S after its end any other rank stalls.
    """
    deadline: float | None = None
    has_failed = False
    running = dict(enumerate(processes))
    while running and (deadline is None or time.monotonic() < deadline):
        # this wait resumes after a signal handler, so forward signals after each time-out
        connection.wait([process.sentinel for process in running.values()], FORWARD_S)
        for rank, process in list(running.items()):
            if process.exitcode is None:
                _forward(rank, process, signals)
                continue
            del running[rank]
            fails = process.exitcode not in (0, PAUSED_EXIT_CODE)
            if fails:
                # before the deadline starts: the other ranks wait for this record, and the disk may be slow
                _record_killed_rank(folder, attempt, rank=rank, status=process.exitcode)
            if rank == 0 if survives_workers else fails:
                has_failed, deadline = has_failed or fails, deadline or time.monotonic() + GRACE_S
    if has_failed:
        return rank_process.FAILED
    return PAUSED_EXIT_CODE if any(process.exitcode == PAUSED_EXIT_CODE for process in processes) else 0


def _forward(rank: int, process: BaseProcess, signals: _PauseSignals) -> None:
    """Send the pause signal to a rank: an urgent one as SIGTERM once, then SIGUSR2, which is harmless if repeated."""
    if signals.received and process.pid is not None:
        is_first = rank not in signals.forwarded_to
        signals.forwarded_to.add(rank)
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGTERM if is_first and signals.is_urgent else signal.SIGUSR2)


def _record_killed_rank(folder: RunFolder, attempt: int, *, rank: int, status: int) -> None:
    """Record the failure of a rank that was killed before it could record the failure itself."""
    if folder.read_rank_failures(attempt, [rank]):
        return
    cause = f"killed by {signal.Signals(-status).name}" if status < 0 else f"left with status {status}"
    host, kind = socket.gethostname(), FailureKind.SIGNAL if status < 0 else FailureKind.UNKNOWN
    reason = f"rank {rank} on {host}: {cause}"
    folder.write_rank_failure(attempt, RankFailure(at=time.time(), rank=rank, host=host, reason=reason, kind=kind))


def _kill(processes: Sequence[BaseProcess]) -> None:
    for process in processes:
        if process.pid is not None and process.exitcode is None:
            process.kill()  # SIGTERM would only ask the rank to pause
    for process in processes:
        if process.pid is not None:
            process.join(GRACE_S)
