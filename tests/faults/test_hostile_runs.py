"""Hostile jobs beside healthy ones on a real service: answers are quick, no tick is late, and healthy runs end well.

The limits of time of the ticks grow with the number of processes that compete for a core (truth.crowding).
"""

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import httpx
import psutil
import pytest

from lab.fake_slurm.state import Settings
from scheduler.app import SUCCESS_STORED_S
from store.session import engine_for, snapshot
from store.tables.base import now
from store.tables.service import Tick
from tests.testing.fake_slurm import carried
from tests.testing.faults import hostile, light
from tests.testing.faults.audit import all_is_well, steps_written
from tests.testing.faults.audit import events as events_in
from tests.testing.faults.on_fake_slurm import SPEC, database_of, settings
from tests.testing.faults.truth import crowding, wanting
from tests.testing.servers import wait_for
from tests.testing.service import ENDED, Service, running

pytestmark = [pytest.mark.flow, pytest.mark.long, pytest.mark.timeout(2400)]
HEALTHY = 3
ANSWER_S = 1.0
BLOCKED_S = 60.0  # an answer that takes so long waits for something
ROUNDS, THREADS = 3, 4
LATE_PERIODS = 10
POINTS = 100_000  # of one answer: the caller chooses how many
MOST_MEMORY = 700 << 20  # of the API or the worker
SECRETS = ("root:", "PATH=", "BIGBATCH_")


@dataclass
class Attacked:
    """A service under attack."""

    service: Service
    client: httpx.Client
    home: Path
    healthy: list[int]
    hostile: dict[int, str]  # the attack of each run
    experiments: list[int]
    folders: dict[int, Path]
    crowd: list[float] = field(default_factory=lambda: [os.getloadavg()[0]])

    @property
    def slower(self) -> float:
        """How many times as long everything takes here as on a machine with free cores."""
        return crowding(self.crowd)


@pytest.fixture
def attacked(tmp_path: Path) -> Iterator[Attacked]:
    """A service with a run for each attack, which has begun, and healthy runs that train."""
    home = tmp_path / "home"
    own = settings(tmp_path) | {"BIGBATCH_SLURM_PYTHON": str(hostile.program(tmp_path))}
    with carried(tmp_path / "slurm", Settings(hosts=10)), running(home, own) as service:
        healthy = service.post(SPEC.format(name="healthy", epochs=2000, seeds=", ".join(map(str, range(HEALTHY)))))
        seeds = ", ".join(map(str, hostile.SEEDS.values()))
        attackers = service.post(SPEC.format(name="hostile", epochs=1, seeds=seeds))
        experiments = [item["id"] for item in service.get("/experiments")["items"]]
        folders = {run_id: Path(service.get(f"/runs/{run_id}")["folder"]) for run_id in (*healthy, *attackers)}
        attacks = dict(zip(attackers, hostile.ATTACKS, strict=True))
        for run_id in attackers:
            wait_for(f"the attack of run {run_id}", (folders[run_id] / hostile.PLANTED).exists, 300)
        for run_id in healthy:
            service.wait_until(run_id, step=1)
        headers = {"authorization": f"Bearer {service.token}"}
        with httpx.Client(base_url=service.url, headers=headers, timeout=BLOCKED_S) as client:
            yield Attacked(service, client, home, healthy, attacks, experiments, folders)


def paths_of(on: Attacked) -> list[str]:
    """All that a user's pages and commands read of these runs."""
    of_runs = ["", "/log?limit=1000000", f"/points?limit={POINTS}", "/ranks"]
    of_experiments = ["", "/runs?limit=500", "/failures", "/checkpoints", f"/points?name=loss&limit={POINTS}"]
    lists = ["/runs?limit=500", "/experiments", "/clusters", "/ready"]
    runs = [f"/runs/{run_id}{rest}" for run_id in [*on.hostile, *on.healthy] for rest in of_runs]
    return [*runs, *(f"/experiments/{number}{rest}" for number in on.experiments for rest in of_experiments), *lists]


def check_answers(on: Attacked) -> None:
    """Get every path, first from several threads at once; check that no answer waits, fails or costs much.

    The bound is on the API's processor time, which is the time of an answer on a machine with a free core. Where this
    machine has free cores, the time of the answer itself is bounded too.
    """
    paths = paths_of(on)
    with ThreadPoolExecutor(THREADS) as pool:
        took_s = dict(zip(paths, pool.map(lambda path: get(on, path), paths), strict=True))
    costs_s = {path: cost_of(on, path) for path in paths}
    print(f"{len(paths)} paths: at most {max(took_s.values()):.2f} s, {max(costs_s.values()):.2f} s of a processor")
    assert not {describe(on, path): cost_s for path, cost_s in costs_s.items() if cost_s > ANSWER_S}
    if on.slower == 1.0:
        alone_s = {path: median(get(on, path) for _ in range(ROUNDS)) for path in paths}
        assert not {describe(on, path): one_s for path, one_s in alone_s.items() if one_s > ANSWER_S}


def get(on: Attacked, path: str) -> float:
    """Get a path, check status and content, and return the seconds that it took."""
    began = time.monotonic()
    answer = on.client.get(f"/api/v1{path}")
    took_s = time.monotonic() - began
    on.crowd.append(wanting())
    assert answer.status_code in (200, 409), (path, answer.status_code, answer.text[:500])
    assert not [word for word in SECRETS if word in answer.text], path
    return took_s


def cost_of(on: Attacked, path: str) -> float:
    """Return the processor time of one answer; of a costly one, the median of several."""
    first_s = _cost_of_one(on, path)
    return (
        first_s if first_s < ANSWER_S / 2 else median([first_s, *(_cost_of_one(on, path) for _ in range(ROUNDS - 1))])
    )


def _cost_of_one(on: Attacked, path: str) -> float:
    api = psutil.Process(on.service.processes["api"].pid)
    before = api.cpu_times()
    get(on, path)
    after = api.cpu_times()
    return float(after.user + after.system - before.user - before.system)


def describe(on: Attacked, path: str) -> str:
    """The path, and the attack of the run that it is of."""
    number = path.split("/")[2].partition("?")[0] if path.startswith("/runs/") else ""
    return f"{path} ({on.hostile.get(int(number), 'healthy')})" if number else path


def check_ticks(on: Attacked) -> None:
    """Check that each tick succeeded within ten of its periods, and that healthy runs are read."""
    on.crowd.append(wanting())
    with snapshot(engine_for(database_of(on.service))) as db:
        ages_s = {row.name: ((now() - row.succeeded_at).total_seconds(), row.period_s) for row in db.query(Tick)}
    late = {
        name: f"{age_s:.1f} s"
        for name, (age_s, period_s) in ages_s.items()
        if age_s > SUCCESS_STORED_S + LATE_PERIODS * period_s * on.slower
    }
    assert not late
    for run_id in on.healthy:
        check_is_read(on, run_id)


def check_is_read(on: Attacked, run_id: int) -> None:
    """Check that the newest step of a run's file is stored soon."""
    written, began = steps_written(events_in(on.folders[run_id]))[-1], time.monotonic()
    wait_for(f"step {written} of run {run_id}", lambda: on.service.get(f"/runs/{run_id}")["step"] >= written)
    assert time.monotonic() - began < LATE_PERIODS * on.slower


def check_memory(on: Attacked, parts: Sequence[str] = ("api", "worker")) -> None:
    peaks = {part: peak_memory(on.service.processes[part].pid) for part in parts}
    print({part: f"{peak >> 20} MB" for part, peak in peaks.items()})
    assert all(peak < MOST_MEMORY for peak in peaks.values()), peaks


def peak_memory(pid: int) -> int:
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) << 10


def test_hostile_runs_delay_no_answer_and_no_other_run(attacked: Attacked) -> None:
    """Forces the attacks of tests.testing.faults.hostile at once, while their jobs live and after these have failed."""
    on, parts = attacked, {part: psutil.Process(process.pid) for part, process in attacked.service.processes.items()}
    check_answers(on)
    check_ticks(on)
    (on.home / "runs" / hostile.LEAVE).touch()
    for run_id, name in on.hostile.items():
        run = on.service.wait_for_end(run_id)
        assert run["state"] == "failed", (name, on.service.story(run_id))
        assert run["reason"], name
    check_answers(on)
    check_ticks(on)
    check_memory(on)
    assert all(part.is_running() for part in parts.values()), "no part of the service ended"
    assert not [run_id for run_id in on.healthy if on.service.get(f"/runs/{run_id}")["state"] in ENDED]
    for run_id in on.healthy:
        (on.folders[run_id] / light.HURRY).touch()
    for run_id in on.healthy:
        on.service.wait_for_end(run_id)
    all_is_well(on.service, on.healthy, lambda: [])
