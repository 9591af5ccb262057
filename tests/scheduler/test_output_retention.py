"""Retention of outputs: a table of which runs' outputs may go, and the tick that removes them."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from contract.lifecycle.artifact import RemovalCause
from contract.spec.artifacts.retention import OutputRetention
from scheduler.context import Context
from scheduler.ticks import prune as prune_module
from scheduler.ticks.prune import prune
from scheduler.ticks.search import search
from store.artifacts import artifacts, retention
from store.artifacts.retention import RunOutputs, choose_due
from store.session import snapshot
from tests.testing.finished_runs import create, finish, folder_of
from tests.testing.runs import make_older, read
from tests.testing.searches import make, stored_runs
from tests.testing.specs import small_experiment

DAY_S = 24 * 3600.0
NOW = datetime(2026, 1, 31, tzinfo=UTC)
RULE: TypeAdapter[OutputRetention] = TypeAdapter(OutputRetention)
ACCURACIES = {1: 0.9, 2: 0.7, 3: 0.95, 4: 0.8}
RULES: list[tuple[dict[str, Any], list[int]]] = [
    ({"kind": "all"}, []),
    ({"kind": "last", "runs": 1}, [1, 2, 3]),
    ({"kind": "last", "runs": 3}, [1]),
    ({"kind": "last", "runs": 9}, []),
    ({"kind": "best"}, [1, 2, 4]),
    ({"kind": "best", "runs": 2}, [2, 4]),
    ({"kind": "best", "metric": "loss"}, [1, 3, 4]),
    ({"kind": "best", "metric": "unknown"}, []),
    ({"kind": "days", "days": 2.5}, [1, 2]),
    ({"kind": "days", "days": 30}, []),
]


@pytest.mark.parametrize(("rule", "due"), RULES, ids=lambda value: str(value))
def test_each_rule_preserves_what_it_names(rule: dict[str, Any], due: list[int]) -> None:
    """Four runs: run 1 ended four days ago, run 4 one day ago; run 3 is the most accurate, run 2 has the least loss."""
    keep = RULE.validate_python(rule)
    found = [
        RunOutputs(run_id, NOW - timedelta(days=5 - run_id), keep, {"heldout_accuracy": value, "loss": value})
        for run_id, value in ACCURACIES.items()
    ]
    assert choose_due(found, NOW) == due


def test_runs_without_the_metric_go_once_another_run_has_it() -> None:
    keep = RULE.validate_python({"kind": "best"})
    found = [RunOutputs(1, NOW, keep, {}), RunOutputs(2, NOW, keep, {"heldout_accuracy": 0.1})]
    assert choose_due(found, NOW) == [1]


@pytest.fixture(autouse=True)
def _time_for_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prune_module, "BUDGET_S", 60.0)


def finished(context: Context, keep: dict[str, Any], size: int = 3, **fields: Any) -> list[int]:
    """Return runs that are done, the first the most accurate, each with an output in a folder."""
    spec = small_experiment({"seed": list(range(size))}, outputs={"model": "model.pt"}, keep=keep, **fields)
    run_ids = create(context, spec)
    for place, run_id in enumerate(run_ids):
        finish(context, run_id, {"model": f"weights {run_id}"}, heldout_accuracy=0.9 - place / 10)
        make_older(context, run_id, ended_at=(size - place) * DAY_S)
    return run_ids


def there(context: Context, run_ids: list[int]) -> list[int]:
    """Return the runs whose output is listed as there; the files are there for the same runs."""
    with snapshot(context.engine) as db:
        listed = sorted(artifacts.outputs_of(db, run_ids))
    assert listed == [run_id for run_id in run_ids if (folder_of(context, run_id) / "model.pt").exists()]
    return listed


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("keep", "left"),
    [
        ({"kind": "all"}, [0, 1, 2]),
        ({"kind": "last", "runs": 2}, [1, 2]),
        ({"kind": "best"}, [0]),
        ({"kind": "days", "days": 2.5}, [1, 2]),
    ],
    ids=str,
)
def test_the_tick_removes_files_and_lists_them_as_removed(
    context: Context, keep: dict[str, Any], left: list[int]
) -> None:
    run_ids = finished(context, keep)
    for _ in range(2):
        prune(context)
    assert there(context, run_ids) == [run_ids[place] for place in left]
    with snapshot(context.engine) as db:
        rows = [artifacts.of_run(db, run_id)[0] for run_id in run_ids]
    for place, row in enumerate(rows):
        assert (row.removed_because is RemovalCause.RETENTION) == (place not in left)
        assert (row.removed_at is not None) == (place not in left)


def test_nothing_goes_while_a_run_of_the_experiment_has_not_ended(context: Context) -> None:
    spec = small_experiment({"seed": [0, 1]}, outputs={"model": "model.pt"}, keep={"kind": "best"})
    first, second = create(context, spec)
    finish(context, first, {"model": "weights"}, heldout_accuracy=0.1)
    prune(context)
    assert there(context, [first]) == [first]
    finish(context, second, {"model": "weights"}, heldout_accuracy=0.2)
    prune(context)
    assert there(context, [first, second]) == [second]


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("before", ["_remove_files", "mark_files_removed"])
def test_a_worker_that_dies_while_it_removes_outputs_leaves_them_for_the_next_one(
    context: Context, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    """Forces the fault: the worker dies before it removes the first file, or before it stores that files are gone."""
    run_ids = finished(context, {"kind": "last", "runs": 1})

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"scheduler.artifacts.removal.{before}", die)
        with pytest.raises(KeyboardInterrupt):
            prune(context)
    prune(context)
    assert there(context, run_ids) == run_ids[2:]
    with snapshot(context.engine) as db:
        assert list(retention.next_runs(db, 0, 10)) == run_ids[2:], "nothing more to do about the others"


def test_a_folder_goes_as_a_whole_and_no_link_on_the_way_is_followed(context: Context, tmp_path: Path) -> None:
    """Forces the fault: after the end of the run somebody replaces a folder on the way by a link to another one."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "model.pt").write_text("not ours")
    spec = small_experiment({"seed": [0]}, outputs={"model": "model.pt"}, keep={"kind": "days", "days": 1e-9})
    (run_id,) = create(context, spec)
    finish(context, run_id, {"model": "weights"})
    folder = folder_of(context, run_id)
    (folder / "model.pt").unlink()
    os.symlink(other, folder / "model.pt")
    make_older(context, run_id, ended_at=DAY_S)
    prune(context)
    assert not (folder / "model.pt").is_symlink()
    assert (other / "model.pt").read_text() == "not ours"
    assert read(context, run_id).ended_at


def test_nothing_goes_while_the_search_of_the_experiment_goes_on(context: Context) -> None:
    """Between two trials, and while the search is paused, all runs have ended."""
    base = {"outputs": {"model": "model.pt"}, "keep": {"kind": "last", "runs": 1}}
    experiment_id = make(context, base=base, trials=2)
    search(context)
    run_ids = [run.id for run in stored_runs(context, experiment_id)]
    for place, run_id in enumerate(run_ids):
        finish(context, run_id, {"model": f"weights {run_id}"}, heldout_accuracy=0.9)
        make_older(context, run_id, ended_at=(2 - place) * DAY_S)
    prune(context)
    assert there(context, run_ids) == run_ids
    search(context)
    prune(context)
    assert there(context, run_ids) == run_ids[1:]
