"""Waits while calls are short: single submissions, stops and reports beside a sweep, its stop and all polls."""

import itertools
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import Engine

from contract.folder.array_folder import ArrayFolder
from contract.folder.run_folder import RunFolder
from contract.spec.run import RunSpec
from scheduler.clusters.cluster import ArrayRequest, JobHandle, JobRequest, NoAnswerError, RateLimitedError
from scheduler.clusters.rate_limit import CALLS_PER_MINUTE
from scheduler.clusters.shared_rate_limit import SharedRateLimit
from scheduler.clusters.slurm.cluster import Slurm
from scheduler.ticks.poll import CALM_S
from tests.testing.specs import Experiment

SINFO = "n1|gpu|up|1:00:00|NO|idle|0/4/0/4|100|(null)|(null)"


class Simulation:
    """A service on one Slurm whose commands answer at once, second by second; each need comes again until it is met."""

    def __init__(self, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at = 1e9
        self.calls: list[tuple[float, str]] = []
        self.reports: list[float] = []
        self.listed = "7|RUNNING|None|n1||sweep"  # by squeue, where a poll asks
        time = SimpleNamespace(time=lambda: self.at, monotonic=lambda: self.at)
        for module in ("store.rate_limit", "scheduler.clusters.slurm.cluster", "scheduler.clusters.slurm.limits"):
            monkeypatch.setattr(f"{module}.time", time)
        monkeypatch.setattr(subprocess, "run", self._run)
        self.cluster = Slurm(rate_limit=SharedRateLimit(engine, "slurm"))
        self._poll_at = self._report_at = self.at
        self.waits_s: dict[str, float] = {}
        self._needs: dict[str, tuple[float, Callable[[], bool]]] = {}

    def _run(self, command: list[str], **_: Any) -> SimpleNamespace:
        self.calls.append((self.at, command[2]))
        answers: Mapping[str, str] = {
            "sbatch": "Submitted batch job 7",
            "sinfo": SINFO,
            "squeue": self._answer_squeue(command),
            "scontrol": "MaxArraySize = 1001\nMaxJobCount = 10000\n",
        }
        return SimpleNamespace(returncode=0, stdout=answers.get(command[2], ""), stderr="")

    def _answer_squeue(self, command: list[str]) -> str:
        if any(word.startswith("--name") for word in command) or "--me" not in command:
            return ""
        return "7|sweep" if "%F|%j" in command else self.listed

    def need(self, name: str, meet: Callable[[], bool]) -> None:
        """Try `meet` from now on, each second, until it returns True; the wait is in `waits_s`."""
        self._needs[name] = (self.at, meet)

    def go_on(self, seconds: int, poll_s: float) -> None:
        """Let time pass; the jobs are polled every `poll_s` seconds where a call is free."""
        for _ in range(seconds):
            for name, (since, meet) in list(self._needs.items()):
                with suppress(NoAnswerError):
                    if meet():
                        self.waits_s[name] = self.at - since
                        del self._needs[name]
            if self.at >= self._poll_at:
                try:
                    self.cluster.status([JobHandle("7", "sweep")])
                    self._poll_at = self.at + poll_s
                except RateLimitedError:
                    self._poll_at = self.at + 2.0
            if self.at >= self._report_at:
                with suppress(RateLimitedError):
                    self.cluster.report()
                    self.reports.append(self.at)
                    self._report_at = self.at + 30.0
            self.at += 1.0

    def oldest_report_s(self) -> float:
        moments = [*self.reports, self.at]
        return max(after - before for before, after in itertools.pairwise(moments))


@pytest.fixture
def requests(experiment: Experiment, tmp_path: Path) -> tuple[JobRequest, ArrayRequest]:
    ((_, spec),) = experiment(resources={"kind": "slurm", "partition": "gpu"}).points
    assert isinstance(spec, RunSpec)
    (tmp_path / "runs" / "arrays").mkdir(parents=True)
    folder = RunFolder(tmp_path / "runs" / "one")
    folder.path.mkdir()
    array = ArrayFolder.of(tmp_path / "runs", "sweep")
    array.path.mkdir(parents=True)
    return JobRequest("one", folder, 1, spec), ArrayRequest("sweep", array, 1, spec, [0, 1])


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("minutes", [1, 4])
def test_three_single_submissions_after_a_sweep_and_its_stop_wait_a_few_seconds_at_most(
    sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch, requests: tuple[JobRequest, ArrayRequest], minutes: int
) -> None:
    """Forces a shortage of calls: polls and reports make every call that they may, before and meanwhile."""
    job, sweep = requests
    simulation = Simulation(sqlite_engine, monkeypatch)
    cluster = simulation.cluster

    def submit(request: JobRequest | ArrayRequest) -> bool:
        is_single = isinstance(request, JobRequest)
        return cluster.may_submit(single=is_single) and cluster.submit(request) == "7"

    simulation.go_on(60 * minutes, poll_s=CALM_S)
    simulation.need("sweep", lambda: submit(sweep))
    simulation.go_on(8, poll_s=6.0)
    simulation.need("stop", lambda: bool(cluster.cancel([JobHandle("7", "sweep")])))
    simulation.go_on(4, poll_s=6.0)
    for name in ("first", "second", "third"):
        simulation.need(name, lambda: submit(job))
        simulation.go_on(8, poll_s=6.0)
    simulation.go_on(60, poll_s=6.0)
    print(simulation.waits_s)
    assert set(simulation.waits_s) == {"sweep", "stop", "first", "second", "third"}
    assert max(simulation.waits_s.values()) <= 3.0
    calls = simulation.calls
    assert max(sum(at <= other < at + 60.0 for other, _ in calls) for at, _ in calls) <= CALLS_PER_MINUTE


@pytest.mark.ring("all")
def test_a_stop_and_a_single_submission_do_not_wait_for_the_arrays_of_a_sweep(
    sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch, requests: tuple[JobRequest, ArrayRequest]
) -> None:
    """Forces a shortage of calls: a sweep has more arrays than a minute has calls for submissions."""
    job, sweep = requests
    simulation = Simulation(sqlite_engine, monkeypatch)
    cluster = simulation.cluster
    simulation.go_on(120, poll_s=CALM_S)
    for array in range(8):
        simulation.need(f"array {array}", lambda: cluster.may_submit() and cluster.submit(sweep) == "7")
    simulation.go_on(8, poll_s=6.0)
    simulation.need("stop", lambda: bool(cluster.cancel([JobHandle("7", "sweep")])))
    simulation.need("single", lambda: cluster.may_submit(single=True) and cluster.submit(job) == "7")
    simulation.go_on(60, poll_s=6.0)
    assert max(simulation.waits_s["stop"], simulation.waits_s["single"]) <= 3.0


@pytest.mark.ring("all")
def test_no_kind_of_call_waits_for_minutes_while_the_state_of_a_job_stays_unknown(
    sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch, requests: tuple[JobRequest, ArrayRequest]
) -> None:
    """Forces a shortage of calls: each poll leaves a question open, and each minute brings calls of all other kinds."""
    job, sweep = requests
    simulation = Simulation(sqlite_engine, monkeypatch)
    simulation.listed = ""
    cluster = simulation.cluster

    def find(name: str) -> bool:
        return name in cluster.find([name])

    for minute in range(5):
        simulation.need(f"stop {minute}", lambda: bool(cluster.cancel([JobHandle("7", "sweep")])))
        simulation.need(f"sweep {minute}", lambda: cluster.may_submit() and cluster.submit(sweep) == "7")
        if minute in (0, 3):  # the searches of one time are made together
            simulation.need(f"search {minute}", partial(find, f"lost-{minute}"))
        simulation.need(f"single {minute}", lambda: cluster.may_submit(single=True) and cluster.submit(job) == "7")
        simulation.go_on(60, poll_s=6.0)
    simulation.go_on(60, poll_s=6.0)
    print(simulation.oldest_report_s(), simulation.waits_s)
    assert simulation.oldest_report_s() <= 62.0
    needs = {f"{kind} {minute}" for kind in ("stop", "sweep", "single") for minute in range(5)}
    assert set(simulation.waits_s) == needs | {"search 0", "search 3"}
    assert max(simulation.waits_s.values()) <= 90.0
