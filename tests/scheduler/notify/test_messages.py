"""What happens to runs becomes messages: once, for those who want them, together with the change itself."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select

from contract.folder.events import Points
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.failure import FailureKind
from contract.lifecycle.notification import NotifyEvent
from contract.lifecycle.reason import RankFailed, Retried, RunFailed
from contract.lifecycle.state import State
from contract.lifecycle.trial import EndCause
from contract.spec.expanded import read_experiment
from scheduler.context import Context
from scheduler.notify.bundle import make_messages
from scheduler.submit.submission import submit_queued
from scheduler.ticks.ingest import ingest
from scheduler.ticks.notify import notify
from store import transitions
from store.lifecycle import creation, going_on
from store.metrics.newest import MAX_LISTED
from store.notify.occurrences import wanted_by
from store.search import searches
from store.session import snapshot, transaction
from store.tables.notify import NotifyDelivery, NotifyRule, Occurrence
from store.tables.runs import Run
from store.transitions import JobExit, Transition
from tests.scheduler.notify.conftest import add_webhook, deliveries_of, make_older
from tests.testing import searches as test_searches
from tests.testing.events import STARTED, report
from tests.testing.receiver import Receiver
from tests.testing.runs import move, read, start_job
from tests.testing.specs import small_experiment
from tests.testing.workflows import end_step_runs, step, workflow

EVERYTHING = [event.value for event in NotifyEvent]


def make_experiment(
    context: Context, size: int = 2, on: list[str] | None = None, owner: str | None = None
) -> list[int]:
    """Create an experiment whose spec has a rule for the target; return the ids of its runs."""
    document = small_experiment({"seed": list(range(size))}).spec.model_dump(mode="json")
    rules = [{"target": "hook", "on": on}] if on else []
    spec = read_experiment({**document, "notify": rules, "owner": owner})
    with transaction(context.engine) as db:
        return creation.create(db, spec)[1]


def end_run(context: Context, run_id: int, state: State, **reason: Any) -> None:
    with transaction(context.engine) as db:
        run = start_job(db, run_id)
        transitions.apply(db, run, None, Transition(state, **reason))


def occurrences(context: Context) -> int:
    with snapshot(context.engine) as db:
        return db.scalar(select(func.count()).select_from(Occurrence)) or 0


def titles(context: Context) -> list[str]:
    return [one.title for one in deliveries_of(context)]


def test_an_experiment_whose_last_run_ended_sends_one_signed_message(worker: Context, receiver: Receiver) -> None:
    add_webhook(worker, receiver)
    first, second = make_experiment(worker, on=["end"])
    end_run(worker, first, State.DONE)
    notify(worker)
    assert receiver.received == [], "a run is before its end"
    end_run(worker, second, State.FAILED)
    notify(worker)
    notify(worker)
    assert receiver.types == ["experiment.ended"]
    assert receiver.received[0].is_signed
    data = receiver.received[0].body["data"]
    assert data["title"] == "Experiment 1 (test) has ended: 1 done, 1 failed"
    assert data["url"] == "https://bigbatch.example.org/experiments/1"
    assert data["counts"] == {"done": 1, "failed": 1}
    assert occurrences(worker) == 0


def test_an_experiment_that_goes_on_and_ends_again_sends_another_message(worker: Context, receiver: Receiver) -> None:
    add_webhook(worker, receiver)
    (run_id,) = make_experiment(worker, 1, on=["end"])
    end_run(worker, run_id, State.FAILED)
    notify(worker)
    with transaction(worker.engine) as db:
        going_on.retry(db, Run.id == run_id, [State.FAILED], by="ada")
    end_run(worker, run_id, State.DONE)
    notify(worker)
    assert receiver.types == ["experiment.ended"] * 2
    assert len(set(receiver.keys)) == 2


def test_a_change_that_is_not_stored_sends_no_message(worker: Context, receiver: Receiver) -> None:
    """Forces the fault: the transaction fails after the run's move."""
    add_webhook(worker, receiver)
    (run_id,) = make_experiment(worker, 1, on=["failure"])

    def crash() -> None:
        with transaction(worker.engine) as db:
            move(db, start_job(db, run_id), State.FAILED)
            raise RuntimeError("a crash")

    with pytest.raises(RuntimeError, match="a crash"):
        crash()
    notify(worker)
    assert (occurrences(worker), receiver.received) == (0, [])


def test_nothing_is_stored_that_no_rule_wants(worker: Context, receiver: Receiver) -> None:
    add_webhook(worker, receiver)
    (run_id,) = make_experiment(worker, 1, on=["budget"])
    end_run(worker, run_id, State.FAILED)
    assert occurrences(worker) == 0


def test_a_failed_run_is_named_with_the_words_of_its_failure(worker: Context, receiver: Receiver) -> None:
    add_webhook(worker, receiver)
    (run_id,) = make_experiment(worker, 1, on=["failure"])
    reason = RunFailed(message="rank 3 on n2: ValueError: no such column")
    end_run(worker, run_id, State.FAILED, reason=reason, exit=JobExit(ExitCause.FAILURE, reason))
    notify(worker)
    data = receiver.received[0].body["data"]
    assert data["title"] == f"Run {run_id} of experiment 1 (test) failed"
    assert f"run {run_id}: rank 3 on n2: ValueError: no such column" in data["text"]
    assert data["runs"][0]["cause"] == "failure"


def test_failures_within_a_minute_are_one_message_and_none_is_lost(worker: Context, receiver: Receiver) -> None:
    add_webhook(worker, receiver)
    run_ids = make_experiment(worker, 7, on=["failure"])
    end_run(worker, run_ids[0], State.FAILED)
    notify(worker)
    for run_id in run_ids[1:]:
        end_run(worker, run_id, State.FAILED)
        notify(worker)
    assert receiver.types == ["run.failed"], "the others wait for the end of the minute"
    make_older(worker, timedelta(minutes=2))
    notify(worker)
    assert receiver.received[1].body["data"]["title"] == "6 runs of experiment 1 (test): failed"
    named = [run["id"] for one in receiver.received for run in one.body["data"]["runs"]]
    assert named == run_ids


def test_a_preempted_run_is_reported_when_its_attempt_ends(worker: Context, receiver: Receiver) -> None:
    add_webhook(worker, receiver)
    (run_id,) = make_experiment(worker, 1, on=EVERYTHING)
    ending = RunFailed(message="paused")
    with transaction(worker.engine) as db:
        run = start_job(db, run_id)
        exit_ = JobExit(ExitCause.PREEMPTED, ending)
        transitions.apply(db, run, None, Transition(State.QUEUED, Retried(after=ending, attempt=2), exit_))
    notify(worker)
    assert receiver.types == ["run.preempted"]


def test_a_stalled_rank_is_an_anomaly_also_if_the_run_is_retried(worker: Context, receiver: Receiver) -> None:
    add_webhook(worker, receiver)
    (run_id,) = make_experiment(worker, 1, on=["anomaly"])
    ending = RankFailed(message="rank 2 made no progress for 60 s", failure=FailureKind.COLLECTIVE_TIMEOUT)
    with transaction(worker.engine) as db:
        run = start_job(db, run_id)
        exit_ = JobExit(ExitCause.FAILURE, ending)
        transitions.apply(db, run, None, Transition(State.QUEUED, Retried(after=ending, attempt=2), exit_))
    notify(worker)
    (run_of_message,) = receiver.received[0].body["data"]["runs"]
    assert (run_of_message["cause"], run_of_message["reason"]) == ("stall", "rank 2 made no progress for 60 s")


@pytest.mark.parametrize("layers", [0, MAX_LISTED + 50])
def test_a_loss_that_is_no_number_any_more_is_an_anomaly_once(worker: Context, receiver: Receiver, layers: int) -> None:
    """Before: a loss that a program reports after many other metrics, which its row does not keep, had no message."""
    add_webhook(worker, receiver)
    (run_id,) = make_experiment(worker, 1, on=["anomaly"])
    submit_queued(worker)
    others: dict[str, float | None] = {f"layer-{number}": 0.5 for number in range(layers)} | {"accuracy": None}
    report(worker, run_id, STARTED, Points(attempt=1, at=1.0, step=1, values=others))
    for step_number, loss in enumerate([2.0, None, None], 2):
        report(worker, run_id, Points(attempt=1, at=1.0, step=step_number, values={"val_loss": loss}))
        ingest(worker)
    assert ("val_loss" in read(worker, run_id).latest) == (layers == 0)
    notify(worker)
    (message,) = receiver.received
    assert message.body["data"]["runs"][0]["reason"] == "no finite number: val_loss at step 3"


def test_a_search_that_used_its_budget_is_reported(worker: Context, receiver: Receiver) -> None:
    target_id = add_webhook(worker, receiver)
    experiment_id = test_searches.make(worker)
    with transaction(worker.engine) as db:
        db.add(NotifyRule(target_id=target_id, experiment_id=experiment_id, events=["budget"]))
    with transaction(worker.engine) as db:
        search = searches.lock(db, 1)
        assert search is not None
        searches.end(db, search, EndCause.BUDGET)
    notify(worker)
    assert receiver.types == ["search.budget_used"]


def test_a_workflow_ends_with_its_last_step(worker: Context, receiver: Receiver) -> None:
    from scheduler.ticks.plan import plan

    add_webhook(worker, receiver)
    document = workflow(step("a"), step("b", needs=["a"])).spec.model_dump(mode="json")
    document["notify"] = [{"target": "hook", "on": ["end"]}]
    with transaction(worker.engine) as db:
        creation.create(db, read_experiment(document))
    end_step_runs(worker, "a")
    plan(worker)
    notify(worker)
    assert receiver.received == []
    end_step_runs(worker, "b")
    notify(worker)
    plan(worker)
    notify(worker)
    assert receiver.types == ["experiment.ended"]


def test_the_rules_of_an_owner_and_of_all_count_and_no_target_gets_a_message_twice(
    worker: Context, receiver: Receiver
) -> None:
    target_id = add_webhook(worker, receiver)
    with transaction(worker.engine) as db:
        db.add(NotifyRule(target_id=target_id, owner="ada", events=["end"]))
        db.add(NotifyRule(target_id=target_id, events=["end", "failure"]))
    of_ada = make_experiment(worker, 1, on=["end"], owner="ada")
    of_bob = make_experiment(worker, 1, owner="bob")
    with snapshot(worker.engine) as db:
        assert {(one.experiment_id, one.event.value) for one in wanted_by(db, [1, 2])} == {
            *((1, "end"), (1, "failure"), (2, "end"), (2, "failure"))
        }
    for run_id in (*of_ada, *of_bob):
        end_run(worker, run_id, State.DONE)
    notify(worker)
    assert receiver.types == ["experiment.ended"] * 2


@pytest.mark.ring("all")
def test_eight_workers_make_one_message_of_each_occurrence(worker: Context, receiver: Receiver) -> None:
    add_webhook(worker, receiver)
    run_ids = make_experiment(worker, 40, on=["failure", "end"])
    for run_id in run_ids:
        end_run(worker, run_id, State.FAILED)
    barrier = threading.Barrier(8)

    def go() -> None:
        barrier.wait()
        make_messages(worker.engine, "")

    threads = [threading.Thread(target=go) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = deliveries_of(worker)
    named = [run["id"] for one in found for run in one.body["data"]["runs"] if one.event == "failure"]
    assert sorted(named) == run_ids
    assert sum(one.event == "end" for one in found) == 1


def test_a_deleted_target_leaves_no_rule_and_its_messages_are_given_up(worker: Context, receiver: Receiver) -> None:
    from store.notify import targets
    from store.tables.notify import NotifyTarget

    target_id = add_webhook(worker, receiver)
    (run_id,) = make_experiment(worker, 1, on=["failure"])
    end_run(worker, run_id, State.FAILED)
    make_messages(worker.engine, "")
    with transaction(worker.engine) as db:
        targets.delete_target(db, db.get_one(NotifyTarget, target_id))
    notify(worker)
    (delivery,) = deliveries_of(worker)
    assert (delivery.status.value, delivery.error) == ("given_up", "the target was deleted")
    assert receiver.received == []
    with snapshot(worker.engine) as db:
        assert not db.scalar(select(func.count()).select_from(NotifyRule))
        assert db.scalar(select(func.count()).select_from(NotifyDelivery)) == 1
