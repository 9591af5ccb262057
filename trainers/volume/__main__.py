"""python -m trainers.volume: a worker on the volume of a run.

As a rank of a run it takes the run's folder from its environment. By hand, on any host that sees the folder,
`python -m trainers.volume FOLDER` joins the workers of the run in FOLDER.
"""

import argparse
import os
import signal
import socket
import sys
from pathlib import Path
from types import FrameType

from contract.spec.program.run import ProgramSpec
from contract.spec.volume.volume import Volume
from trainers.volume.stores.durable import remove_own_drafts
from trainers.volume.task_folder import TaskFolder, Worker
from trainers.volume.work.plan import Plan, UnfitVolume, make_plan
from trainers.volume.work.report import Report
from trainers.volume.work.worker import PauseRequested, Workbench

PAUSED = 4  # the exit status of a program that goes on in the next attempt
NO_SPEC = "there is no run: start it by a spec with `volume`, or name the folder of such a run"


class Signals:
    """What the cluster asks for: SIGTERM gives the task at hand back and ends, SIGUSR2 lets the task end first."""

    def __init__(self) -> None:
        self.wants_pause = False
        self.tasks: TaskFolder | None = None
        signal.signal(signal.SIGTERM, self._end)
        signal.signal(signal.SIGUSR2, self._warn)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM, signal.SIGUSR2))  # the parent may have blocked them

    def _end(self, _number: int, _frame: FrameType | None) -> None:
        # no exception: Python ignores one that a finalizer raises, and one between the lease and its task loses it
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        try:
            if self.tasks is not None:
                self.tasks.give_back_held()
            remove_own_drafts()
        finally:
            os._exit(PAUSED)

    def _warn(self, _number: int, _frame: FrameType | None) -> None:
        self.wants_pause = True


def main(arguments: list[str] | None = None) -> int:
    """Work on the tasks of a run; return 0 when all are done, 4 when the run is to go on later."""
    parser = argparse.ArgumentParser(prog="python -m trainers.volume", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="folder of the run, on any host that sees it")
    asked: Path | None = parser.parse_args(arguments).folder
    own = os.environ.get("BIGBATCH_RUN_FOLDER")
    folder = asked or (Path(own) if own else None)
    if folder is None:
        parser.error(NO_SPEC)
    signals = Signals()
    try:
        plan = make_plan(read_volume(folder), folder)
        return _work(plan, folder, _worker(folder, is_rank=asked is None), signals)
    except PauseRequested:
        return PAUSED
    except UnfitVolume as error:
        print(f"python -m trainers.volume: {error}", file=sys.stderr)
        return 1


def read_volume(folder: Path) -> Volume:
    """Return the volume of a run's spec; raise UnfitVolume if the run has none."""
    try:
        run = ProgramSpec.model_validate_json((folder / "spec.json").read_bytes())
    except (OSError, ValueError) as error:
        raise UnfitVolume(f"{folder} is no folder of a run of a program: {error}") from error
    if run.volume is None:
        raise UnfitVolume(f"the run in {folder} has no `volume`")
    return run.volume


def _worker(folder: Path, *, is_rank: bool) -> Worker:
    if not is_rank:
        return Worker(f"{socket.gethostname()}:{os.getpid()}", rank=os.getpid() % 1000, world=1000)
    number = {name: int(os.environ.get(name, "0")) for name in ("RANK", "WORLD_SIZE", "BIGBATCH_ATTEMPT")}
    attempt, world = max(number["BIGBATCH_ATTEMPT"], 1), max(number["WORLD_SIZE"], 1)
    return Worker(str(folder), attempt, number["RANK"], world)


def _work(plan: Plan, folder: Path, worker: Worker, signals: Signals) -> int:
    tasks = TaskFolder(plan.work / "tasks", worker, lease_s=plan.spec.lease_s)
    signals.tasks = tasks
    bench = Workbench(plan, tasks)
    report = Report(plan, tasks, folder) if worker.run == str(folder) and worker.rank == 0 else None
    bench.work(report.update if report else (lambda: None), lambda: signals.wants_pause)
    if report:
        report.update(is_last=True)
        bench.remove_drafts()
        found = "" if bench.components is None else f", {bench.components:,} components"
        print(f"all {sum(plan.stages.values())} tasks are done{found}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
