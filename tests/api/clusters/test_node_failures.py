"""The nodes on which attempts failed: node failures and other causes apart, within a period and within bounds."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, cast

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from api.clusters import node_failures as endpoint
from api.points.shared_answers import SharedAnswers
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.job_end import EndKind, JobEnd
from contract.lifecycle.reason import Begun, JobEnded
from store.lists import node_failures
from store.session import transaction
from store.tables.base import now
from store.tables.runs import Run
from tests.testing.api import SPEC, post
from tests.testing.stored_runs import add_job, end_attempt

End = Callable[..., None]


@pytest.fixture
def end(both: TestClient, engine: Engine) -> End:
    """Return a function that ends the next attempt of run 1 or 2 on some nodes."""
    post(both, SPEC)

    def end_one(
        run_id: int, cause: ExitCause, *hosts: str, days_ago: float = 1, excluded: tuple[str, ...] = ()
    ) -> None:
        with transaction(engine) as db:
            run = db.get_one(Run, run_id)
            job = add_job(db, run, hosts=list(hosts))
            end_attempt(db, run, cause, None)
            job.ended_at = now() - timedelta(days=days_ago)
            if cause is ExitCause.NODE_FAILURE:
                job.exit_reason = JobEnded(
                    end=JobEnd(kind=EndKind.NODE_FAILED, detail="NODE_FAIL"), begun=Begun.CLAIMED
                )
            if excluded:
                run.excluded = list(excluded)

    return end_one


def report(client: TestClient, query: str = "") -> dict[str, Any]:
    cast(FastAPI, client.app).state.shared_answers = SharedAnswers()  # an answer counts for a minute
    answer = client.get(f"/api/v1/clusters/node-failures{query}")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def shown(client: TestClient, query: str = "") -> dict[str, tuple[int, int, int, dict[str, int]]]:
    return {
        node["node"]: (node["attempts"], node["node_failures"], node["possible"], node["other_causes"])
        for node in report(client, query)["nodes"]
    }


def test_node_failures_and_other_causes_are_counted_apart(both: TestClient, end: End) -> None:
    end(1, ExitCause.NODE_FAILURE, "n1")
    end(1, ExitCause.DONE, "n1", "n2")
    end(2, ExitCause.OUT_OF_MEMORY, "n2", "n2", "n3")  # an engine names a host once for each rank
    end(2, ExitCause.PREEMPTED, "n4")
    assert shown(both) == {
        "n1": (2, 1, 0, {}),
        "n2": (2, 0, 0, {"out_of_memory": 1}),
        "n3": (1, 0, 0, {"out_of_memory": 1}),
    }


def test_of_several_nodes_the_excluded_one_failed(both: TestClient, end: End) -> None:
    end(1, ExitCause.NODE_FAILURE, "n1", "n2", days_ago=3)  # n1 failed
    end(1, ExitCause.NODE_FAILURE, "n2", "n3", days_ago=2, excluded=("n1", "n2"))  # n2 failed, which both attempts had
    assert shown(both) == {"n1": (1, 1, 0, {}), "n2": (2, 1, 0, {})}


def test_nodes_of_which_one_failed_are_possible(both: TestClient, end: End) -> None:
    end(1, ExitCause.NODE_FAILURE, "n1", "n2")
    end(2, ExitCause.NODE_FAILURE, "n2")
    assert list(shown(both).items()) == [("n2", (2, 1, 1, {})), ("n1", (1, 0, 1, {}))]


def test_a_node_has_its_newest_failures_with_their_sentences(both: TestClient, end: End) -> None:
    for days_ago in (9, 8, 7, 6, 5, 4):
        end(1, ExitCause.NODE_FAILURE, "n1", days_ago=days_ago)
    end(2, ExitCause.FAILURE, "n1", days_ago=0.5)
    (node,) = report(both)["nodes"]
    assert [(one["run_id"], one["attempt"]) for one in node["newest"]] == [(1, number) for number in (6, 5, 4, 3, 2)]
    reason = "a node of the job failed (NODE_FAIL), and the run reported no reason"
    assert node["newest"][0]["reason"] == reason


def test_attempts_before_the_period_and_of_deleted_runs_are_left_out(
    both: TestClient, end: End, engine: Engine
) -> None:
    end(1, ExitCause.NODE_FAILURE, "old", days_ago=31)
    end(1, ExitCause.DONE, "well", days_ago=1)
    end(2, ExitCause.NODE_FAILURE, "deleted")
    with transaction(engine) as db:
        db.get_one(Run, 2).deleted_at = now()
    assert shown(both) == {}
    assert list(shown(both, "?days=32")) == ["old"]


def test_an_answer_has_so_many_nodes_at_most(both: TestClient, end: End) -> None:
    for name in ("n1", "n2", "n2", "n3"):
        end(1, ExitCause.NODE_FAILURE, name)
    found = report(both, "?limit=1")
    assert ([node["node"] for node in found["nodes"]], found["total"]) == (["n2"], 3)


@pytest.mark.parametrize("bound", ["MOST_ATTEMPTS", "MOST_FAILURES"])
def test_an_answer_that_read_only_the_newest_attempts_says_so(
    both: TestClient, end: End, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    for days_ago in (4, 3, 2, 1):
        end(1, ExitCause.NODE_FAILURE, "n1", days_ago=days_ago)
    assert report(both)["is_complete"]
    monkeypatch.setattr(node_failures, bound, 2)
    found = report(both)
    assert not found["is_complete"]
    assert found["nodes"][0]["node_failures"] == 2


def test_pages_that_ask_in_the_same_minute_cost_one_reading(
    both: TestClient, end: End, monkeypatch: pytest.MonkeyPatch
) -> None:
    end(1, ExitCause.NODE_FAILURE, "n1")
    at = now()
    monkeypatch.setattr(endpoint, "now", lambda: at)
    first = report(both)
    monkeypatch.delattr(node_failures, "end_counts")
    assert both.get("/api/v1/clusters/node-failures").json() == first
