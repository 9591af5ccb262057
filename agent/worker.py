"""A worker: the parent of one rank that torchrun or mpirun started; it records how the rank ends.

torchrun itself would report neither which signal ended a rank nor that a rank paused: for torchrun status 4 is a
failure that ends all ranks.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path

from agent.folder.rank_ends import RankEnd, record_end
from agent.folder.run_folder import RunFolder
from agent.program import command
from agent.ranks import processes
from agent.ranks.output_pump import LAST_LINES_S, open_pump
from agent.ranks.placement import find_placement, worker_rank
from agent.ranks.rank_process import RankProcess, kill_left_behind
from agent.ranks.rendezvous import await_point
from agent.ranks.signals import Signals
from agent.ranks.start import Start
from agent.ranks.supervisor import Supervisor
from agent.stalls.watch import watch_stalls
from runfiles.exit_status import PAUSED


def run_worker(path: Path, attempt: int) -> int:
    """Run one rank to its end and return the exit status for the launcher: 0 also for a rank that paused."""
    processes.die_with_parent()  # a killed agent takes the launcher along, and nothing else would end this process
    signals = Signals()
    signals.listen()
    processes.adopt_orphans()
    folder = RunFolder(path)
    spec = folder.read_spec()
    rank, local_rank, world = worker_rank(str(spec.get("launcher")))
    host = os.environ.get("SLURMD_NODENAME") or socket.gethostname()
    pump = open_pump(folder, attempt, spec, labels=world if world > 1 else 0)

    def record(end: RankEnd) -> None:
        if end.is_failure:
            pump.await_end_of(end.rank, LAST_LINES_S)
        record_end(folder, attempt, end, is_shared=True, said=pump.last_words(end.rank), world=world)
        if end.is_failure:
            print(f"bigbatch: {end.describe()}", file=sys.stderr, flush=True)

    supervisor = Supervisor(host, signals, record)
    if spec.get("launcher") == "torchrun":  # torchrun's own variables, in the environment that torchrun inherited
        words = command.program_words(spec, folder.path)
        started = RankProcess(rank, words, os.environ, os.getcwd(), pump=pump)
    else:
        point = await_point(folder, attempt, lambda: False)
        assert point is not None
        started = Start(folder, attempt, spec, find_placement(spec), point, pump).worker(rank, local_rank, world)
    pump.start()
    hosts = [host if number == rank else "" for number in range(world)]
    supervisor.observe([started], stalls=watch_stalls(folder, attempt, spec, pids={rank: started.pid}, hosts=hosts))
    kill_left_behind()
    pump.finish(signals.deadline)
    end = supervisor.ends[0]
    if end.status in (0, PAUSED):
        return 0
    return 128 + signal.SIGTERM if end.is_stop and not supervisor.has_stalled else 1
