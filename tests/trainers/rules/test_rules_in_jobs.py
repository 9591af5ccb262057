"""Whole runs with rules whose replicas differ: their events, and the effect of a lost rank."""

import os
import signal
from pathlib import Path

import pytest

from contract.folder.events import Failed, Finished, Points
from tests.testing.trainers.attempts import attempt
from tests.testing.trainers.jobs import events, finish, losses, prepare, ranks_of, start, until

ELASTIC = {
    "optimizer": {"kind": "sgd", "momentum": 0.0},
    "schedule": {"kind": "constant", "rate": 0.2},
    "batch": 96,
    "collective": {"kind": "native"},
    "resources": {"kind": "local", "ranks_per_node": 3},
}


@pytest.mark.ring("all")
@pytest.mark.parametrize(
    "rule",
    [
        {"kind": "easgd", "variant": "hogwild", "period": 2, "packed": False},
        {"kind": "easgd", "variant": "sync1", "packed": False},
        {"kind": "easgd", "variant": "sync3", "period": 2},
        {"kind": "async_sgd"},
        {"kind": "sync", "packed": False},
    ],
    ids=lambda rule: rule.get("variant", rule["kind"]),
)
def test_a_run_learns_with_every_kind_of_rule(rule: dict[str, object], tmp_path: Path) -> None:
    folder = prepare(tmp_path, **{**ELASTIC, "rule": rule, "epochs": 6})
    assert attempt(folder, 1) == [0, 0, 0]
    accuracies = [e.values["heldout_accuracy"] for e in events(folder) if isinstance(e, Points) and "epoch" in e.values]
    assert len(accuracies) == 6
    assert accuracies[-1] is not None
    assert accuracies[-1] > 0.8


@pytest.mark.ring("all")
def test_an_asynchronous_run_continues_without_a_killed_worker(tmp_path: Path) -> None:
    """Forces SIGKILL of rank 2 after a few steps of rank 0."""
    folder = prepare(tmp_path, **{**ELASTIC, "rule": {"kind": "easgd", "variant": "async"}, "epochs": 80})
    job = start(folder)
    until(lambda: len(losses(folder)) > 5)
    os.kill(ranks_of(job)[2].pid, signal.SIGKILL)
    status, errors = finish(job)
    assert status == 0, errors
    reported = events(folder)
    assert isinstance(reported[-1], Finished)
    assert not [event for event in reported if isinstance(event, Failed)]
    assert [fall.rank for fall in folder.read_rank_failures(1)] == [2]


@pytest.mark.ring("all")
def test_an_asynchronous_run_ends_without_a_hung_worker_and_names_it(tmp_path: Path) -> None:
    """Forces SIGSTOP of rank 2: its process neither exchanges nor ends, and the job must not wait for it."""
    hung = {"rule": {"kind": "easgd", "variant": "async"}, "collective": {"kind": "native", "timeout_s": 5.0}}
    folder = prepare(tmp_path, **{**ELASTIC, **hung, "epochs": 40})
    job = start(folder)
    until(lambda: len(losses(folder)) > 5)
    os.kill(ranks_of(job)[2].pid, signal.SIGSTOP)
    status, errors = finish(job)
    assert status == 0, errors
    assert isinstance(events(folder)[-1], Finished)
    assert "it did not come to the center for 5 s" in {lost.rank: lost.reason for lost in folder.read_lost_ranks()}[2]


@pytest.mark.ring("all")
def test_the_end_of_rank_0_ends_the_run(tmp_path: Path) -> None:
    """Forces SIGKILL of rank 0 after a few steps."""
    folder = prepare(tmp_path, **{**ELASTIC, "rule": {"kind": "async_sgd"}, "epochs": 100})
    job = start(folder)
    until(lambda: len(losses(folder)) > 5)
    os.kill(ranks_of(job)[0].pid, signal.SIGKILL)
    status, errors = finish(job)
    assert status == 1
    assert "rank 0, which serves the center, is gone" in errors
    assert "rank 0" in folder.read_rank_failures(1)[0].reason
