"""Deleted experiments leave no record beside the run folders, whenever its removal fails."""

import errno
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select, update

from contract.folder.service_records import remove_experiment
from scheduler.context import Context, Memory
from scheduler.submit.submission import submit_queued
from scheduler.ticks import delete as tick
from scheduler.ticks.delete import delete
from store.lifecycle import creation, deletion
from store.session import snapshot, transaction
from store.tables.base import now
from store.tables.experiments import Experiment as Stored
from store.tables.runs import Run
from tests.testing.specs import Experiment


def stored(context: Context) -> list[int]:
    with snapshot(context.engine) as db:
        return sorted(db.scalars(select(Stored.id)))


def test_the_record_of_an_experiment_goes_before_its_row_so_a_later_tick_removes_what_is_left(
    context: Context, experiment: Experiment, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the file server is away for the removal of one record. Before: that record stayed for ever."""
    with transaction(context.engine) as db:
        for _ in range(3):
            creation.create(db, experiment())
    submit_queued(context)
    with transaction(context.engine) as db:
        db.execute(update(Run).where(Run.id < 3).values(deleted_at=now(), restorable_until=None))
        db.execute(update(Stored).where(Stored.id < 3).values(deleted_at=now(), restorable_until=None))
        assert all(deletion.remove_rows(db, run_id, 100) for run_id in (1, 2))

    def fail_once(root: Path, identity: str, experiment_id: int) -> None:
        if experiment_id == 1:
            raise OSError(errno.EHOSTDOWN, "the file server is away")
        remove_experiment(root, identity, experiment_id)

    with monkeypatch.context() as broken:
        broken.setattr(tick, "remove_experiment", fail_once)
        delete(context)
    assert "the record of deleted experiment 1 cannot be removed, next try in 20 s" in caplog.text
    records = context.runs_folder.glob(".services/*/experiment-*.json")
    assert sorted(path.name for path in records) == ["experiment-1.json", "experiment-3.json"]
    assert stored(context) == [1, 3]
    delete(replace(context, memory=Memory()))
    assert [path.name for path in context.runs_folder.glob(".services/*/experiment-*.json")] == ["experiment-3.json"]
    assert stored(context) == [3]
