"""The parts of a team's service fall and stand up: database, broker, API, clock, workers, and clocks that differ."""

import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.fake_slurm.state import Settings
from tests.testing import servers
from tests.testing.databases import new_database
from tests.testing.fake_slurm import carried
from tests.testing.faults.light import HURRY
from tests.testing.faults.on_fake_slurm import SPEC, OnStandIn, a_minute_later, settings
from tests.testing.needs import program
from tests.testing.servers import Server
from tests.testing.service import running

pytestmark = [pytest.mark.flow, pytest.mark.postgres, pytest.mark.redis, pytest.mark.long]


@dataclass
class Team(OnStandIn):
    """A service on PostgreSQL and Redis, both of its own."""

    postgres: Server
    redis: Server


@pytest.fixture(scope="module")
def _team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    home = tmp_path_factory.mktemp("team")
    with (
        servers.postgres_process() as postgres,
        servers.redis_process(home) as redis,
        carried(home / "slurm", Settings(kill_wait_s=2.0, hosts=8)) as stage,
    ):
        parts = {"BIGBATCH_DATABASE": new_database(postgres.url, "team"), "BIGBATCH_BROKER": redis.url}
        with running(home / "home", settings(home) | parts) as service:
            yield Team(service, stage, postgres, redis)


@pytest.fixture
def team(_team: Team) -> Team:
    a_minute_later(_team.service)
    return _team


def test_a_database_that_crashes_loses_no_run_and_no_point(team: Team) -> None:
    """Forces the fault: PostgreSQL ends without a word while runs train and one is submitted, and comes back."""
    run_ids = team.post(2, epochs=8)
    team.service.wait_until(run_ids[0], step=3)
    run_ids += team.post()
    team.postgres.kill()
    time.sleep(3)
    team.postgres.start()
    team.true_soon(run_ids)
    team.all_done(run_ids)


def test_a_broker_that_is_flushed_and_restarted_stops_nothing(team: Team) -> None:
    """Forces the fault: Redis forgets everything, is killed, and is back after three seconds."""
    run_ids = team.post(2, epochs=8)
    team.service.wait_until(run_ids[0], step=3)
    team.redis.kill()
    time.sleep(3)
    team.redis.start()
    team.true_soon(run_ids)
    run_ids += team.post()
    team.all_done(run_ids)


def test_two_clocks_and_four_workers_double_nothing(team: Team) -> None:
    """Forces the race: every tick comes twice, and four workers take them while twelve runs are submitted and train."""
    team.service.start("clock", name="clock-2")
    for number in (2, 3, 4):
        team.service.start("worker", name=f"worker-{number}")
    run_ids = [run_id for _ in range(4) for run_id in team.post(3, epochs=2)]
    team.true_soon(run_ids)
    team.all_done(run_ids)  # seven more processes begin, and each worker reads Slurm's limits
    assert {team.service.get(f"/runs/{run_id}")["attempt"] for run_id in run_ids} == {1}
    for name in ("clock-2", "worker-2", "worker-3", "worker-4"):
        team.service.kill(name)


@pytest.mark.parametrize("ahead", ["+10m", "-10m"])
def test_a_worker_whose_clock_is_ten_minutes_off_takes_over_and_hands_back(team: Team, ahead: str) -> None:
    """Forces the fault: the worker is killed, one with a false clock goes on, is killed too, and a good one goes on."""
    run_ids = team.post(2, epochs=500)
    team.service.wait_until(run_ids[0], step=3)
    team.service.kill("worker")
    team.service.start("worker", before=false_clock(ahead))
    team.true_soon(run_ids)
    reached = team.service.get(f"/runs/{run_ids[0]}")["step"]
    team.service.wait_until(run_ids[0], step=reached + 10)
    team.service.kill("worker")
    team.service.start("worker")
    team.true_soon(run_ids)
    for run_id in run_ids:
        (Path(team.service.get(f"/runs/{run_id}")["folder"]) / HURRY).touch()
    run_ids += team.post()
    team.all_done(run_ids)


def false_clock(ahead: str) -> list[str]:
    """A command that goes before another one, for which it is then so much later; waiting takes as long as ever."""
    library = next(program("faketime").parents[1].glob("lib/*/faketime/libfaketime.so.1"))
    return ["env", f"LD_PRELOAD={library}", f"FAKETIME={ahead}", "FAKETIME_DONT_FAKE_MONOTONIC=1"]


def test_a_post_that_the_api_did_not_live_to_answer_is_there_whole_or_not_at_all(team: Team) -> None:
    """Forces the fault: SIGKILL to the API within a POST, three times; each is sent until it is answered."""
    text, service = SPEC.format(name="posted", epochs=1, seeds="0, 1"), team.service
    began = time.monotonic()
    run_ids = service.post(text)
    takes_s, sent = time.monotonic() - began, 1
    with ThreadPoolExecutor(1) as pool:
        while service.cut < 3:
            assert sent < 40, "the kills come between the POSTs"
            answer = pool.submit(service.post_until_answered, text)
            time.sleep(random.uniform(0, takes_s))
            takes_s *= 0.8 if answer.done() else 1.0  # the first one, with all that begins with it, takes longer
            service.kill("api")
            service.start("api")
            run_ids += answer.result()
            sent += 1
    team.true_soon(run_ids)
    posted = [item for item in team.service.get("/experiments", limit=200)["items"] if item["name"] == "posted"]
    assert len(posted) == sent, "one experiment for each POST, however often it was sent"
    team.all_done(run_ids)
