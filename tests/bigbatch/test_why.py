"""`bigbatch why`: the first rank to fail, in a terminal."""

import json

import pytest

from bigbatch.client import Client
from contract.folder.rank_failure import Fall
from contract.lifecycle.state import State
from contract.spec.retry import Cause
from store import jobs as attempts
from store.session import transaction
from store.tables import Run
from tests.bigbatch.conftest import SPEC, Call, Site
from tests.testing import seed_runs as seed

TRACE = 'Traceback\n  File "data.py", line 5, in batch\n    read(path)\nOSError: the disk is gone\n'


def fall(site: Site, run_id: int) -> None:
    """Let rank 1 fall over its data, and rank 0 see it leave."""
    seed.move(site, run_id, [*seed.TO_RUNNING])
    folder = seed.log_of(site, run_id)
    (folder.path / "attempts").mkdir()
    folder.note_fall(0, Fall(at=99.0, rank=1, host="n2", reason="rank 1 on n2: OSError: the disk is gone", trace=TRACE))
    folder.note_fall(0, Fall(at=99.0, rank=0, host="n1", reason="rank 0 on n1: rank 1 died", echo=True, lost=[1]))
    with transaction(site.engine) as db:
        attempts.note(db.get_one(Run, run_id), Cause.FAILURE, "rank 1 on n2: OSError: the disk is gone")
    seed.move(site, run_id, [State.FAILED], reason="rank 1 on n2: OSError: the disk is gone")


def test_why_names_the_first_rank_its_host_the_kind_and_the_evidence(client: Client, site: Site, call: Call) -> None:
    run_id = client.create(SPEC).runs[0]
    fall(site, run_id)
    said = call("why", run_id)
    first, source, *rest = said.out.splitlines()
    assert said.code == 0
    assert first.startswith("first to fail: rank 1 on n2 at ")
    assert first.endswith(" UTC: python error")
    assert source == "said by rank 1:"
    assert rest[:3] == ['    File "data.py", line 5, in batch', "      read(path)", "    OSError: the disk is gone"]
    assert rest[3] == "then:"
    assert rest[4].endswith(" s  rank 0 on n1: rank 1 died")
    assert json.loads(call("why", run_id, "--json").out)["rank"] == 1


def test_why_of_an_experiment_has_a_line_for_each_run_that_failed(client: Client, site: Site, call: Call) -> None:
    made = client.create(SPEC)
    assert call("why", "-e", made.id).out == "no run of it has failed\n"
    fall(site, made.runs[1])
    said = call("why", "--experiment", made.id).out
    assert said.startswith("1 run failed: 1 python error\n")
    assert "OSError: the disk is gone" in said
    assert [run["id"] for run in json.loads(call("why", "-e", made.id, "--json").out)] == [made.runs[1]]


LAST: dict[State, tuple[list[State], str]] = {
    State.QUEUED: ([], "it has not been handed to local yet"),
    State.SUBMITTING: ([State.SUBMITTING], "it is being handed to local"),
    State.PENDING: (seed.TO_RUNNING[:-1], "local has it as job 77, and it has said nothing yet"),
    State.RUNNING: (seed.TO_RUNNING, "it has taken 0 of {steps} steps"),
    State.PAUSED: ([*seed.TO_RUNNING, State.PAUSED], "it has saved; it is queued again once its job has left"),
    State.DONE: ([*seed.TO_RUNNING, State.DONE], "it ended well, at step 0 of {steps}"),
    State.FAILED: ([State.SUBMITTING, State.FAILED], "nobody can say why"),
    State.CANCELLED: ([State.CANCELLED], "it was stopped"),
}


@pytest.mark.parametrize("state", list(State))
def test_why_of_a_run_of_which_nothing_failed_says_how_it_is(
    client: Client, site: Site, call: Call, state: State
) -> None:
    run_id = client.create(SPEC).runs[0]
    moves, story = LAST[state]
    with transaction(site.engine) as db:
        db.get_one(Run, run_id).job_id = "77"
    seed.move(site, run_id, moves)
    steps = client.run(run_id).steps
    assert call("why", run_id).out == f"run {run_id} is {state}: {story.format(steps=steps)}\n"


def test_why_of_a_run_that_ended_well_names_the_attempts_before(client: Client, site: Site, call: Call) -> None:
    run_id = client.create(SPEC).runs[0]
    seed.move(site, run_id, seed.TO_RUNNING)
    with transaction(site.engine) as db:
        run = db.get_one(Run, run_id)
        run.step, run.attempt = run.steps, 1
        attempts.note(run, Cause.PREEMPTED, "another job took its place")
        run.attempt = 2
        attempts.note(run, Cause.DONE, None)
    seed.move(site, run_id, [State.DONE])
    assert call("why", run_id).out.endswith("; attempt 1 ended early: preempted\n")
    assert call("why", 999_999).code == 1
