"""All that chaos can strike: the parts of a team's service, its servers, the lab and the runs."""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.fake_slurm.state import ClusterState
from tests.testing.servers import Server
from tests.testing.service import Service

GRACE = "grace"  # the partition whose jobs are asked to end before they are preempted
PARTITIONS = ("gpu", GRACE)  # of the runs
WORKERS = ("worker", "worker-2")
WORKER_MODULE = "tests.testing.faults.hanging_worker"


@dataclass
class Field:
    """All that can be struck."""

    service: Service
    stage: ClusterState  # puts faults before the lab's own commands
    postgres: Server
    redis: Server
    dice: random.Random
    cancelled: set[int] = field(default_factory=set)  # runs whose jobs were ended by hand
    hostile: dict[int, str] = field(default_factory=dict)  # runs that attack the service, and how
    engines: list[int] = field(default_factory=list)  # runs of the engine, or of what stands for it
    programs: dict[int, str] = field(default_factory=dict)  # runs of own programs, and of which variant
    real: list[int] = field(default_factory=list)  # runs that train with torch
    wrong: list[str] = field(default_factory=list)  # what a fault showed at once
    patience_s: float = 0.0  # for a run that can be struck
    exit_codes: list[int] = field(default_factory=list)  # of workers that ended
    _restarting: threading.Lock = field(default_factory=threading.Lock)

    @property
    def home(self) -> Path:
        return Path(self.service.environment["BIGBATCH_HOME"])

    @property
    def runs(self) -> Path:
        return Path(self.service.environment["BIGBATCH_RUNS"])

    @property
    def ledger(self) -> Path:
        """The folder of the programs' ledgers, on another disk than the run folders."""
        return self.home.parent / "ledger"

    @property
    def run_ids(self) -> list[int]:
        """All runs that must come to a good end."""
        return [*self.engines, *self.programs]

    def running(self, kind: str = "") -> dict[str, Any] | None:
        """Some run that trains on Slurm now, if there is one soon; `kind`: "engine" or "program", else either."""
        until = time.monotonic() + self.patience_s
        while not (found := self._running(kind)) and time.monotonic() < until:
            time.sleep(0.5)
        return dict(self.service.get(f"/runs/{self.dice.choice(found)}")) if found else None

    def _running(self, kind: str) -> list[int]:
        runs = self.service.get("/runs", state="running", limit=200)["items"]
        peaceful = [run["id"] for run in runs if run["id"] not in self.hostile]
        return [run_id for run_id in peaceful if not kind or (run_id in self.programs) == (kind == "program")]

    def start_worker(self, name: str) -> None:
        """Start a worker whose ticks can be asked to hang."""
        self.service.start("worker", name=name, module=WORKER_MODULE)

    def restart_ended_workers(self) -> None:
        """Start workers anew in the place of those that have ended, as `bigbatch up` does; keep the exit codes."""
        with self._restarting:
            for name in WORKERS:
                if (code := self.service.processes[name].poll()) is not None:
                    self.exit_codes.append(code)
                    self.start_worker(name)


Mishap = Callable[[Field], bool]  # False: there was nothing to strike
