"""All that chaos can strike: the parts of a team's service, its servers, the lab and the runs."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.fake_slurm.state import ClusterState
from tests.testing.servers import Server
from tests.testing.service import Service

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
    wrong: list[str] = field(default_factory=list)  # what a fault showed at once

    @property
    def home(self) -> Path:
        return Path(self.service.environment["BIGBATCH_HOME"])

    @property
    def runs(self) -> Path:
        return Path(self.service.environment["BIGBATCH_RUNS"])

    def running(self) -> dict[str, Any] | None:
        """Some run that trains on Slurm now, if there is one."""
        runs = self.service.get("/runs", state="running", limit=50)["items"]
        peaceful = [run["id"] for run in runs if run["id"] not in self.hostile]
        return dict(self.service.get(f"/runs/{self.dice.choice(peaceful)}")) if peaceful else None

    def start_worker(self, name: str) -> None:
        """Start a worker whose ticks can be asked to hang."""
        self.service.start("worker", name=name, module=WORKER_MODULE)

    def restart_ended_workers(self) -> list[int]:
        """Start workers anew in the place of those that have ended, as `bigbatch up` does; return the exit codes."""
        codes = {name: self.service.processes[name].poll() for name in WORKERS}
        for name, code in codes.items():
            if code is not None:
                self.start_worker(name)
        return [code for code in codes.values() if code is not None]


Mishap = Callable[[Field], bool]  # False: there was nothing to strike
