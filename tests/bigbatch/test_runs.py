"""Tests of `bigbatch runs` and of the client's table of runs."""

import json
from pathlib import Path

import pytest

from bigbatch import table_client
from bigbatch.client import Client
from bigbatch.errors import ApiError
from contract.api.labels import RunChange
from contract.folder.events import Points
from store.metrics import points
from store.session import transaction
from store.tables.runs import Run
from tests.testing.command import Call, Site


def test_the_command_lists_the_runs_of_a_query_with_any_columns(client: Client, call: Call, spec: Path) -> None:
    spec.write_text(spec.read_text().replace("name: ", "name: filtered "))
    newest = client.create(spec.read_text())
    query = f"experiment = {newest.id} and name ~ filtered"
    asked = ("runs", query, "--column", "batch", "--column", "experiment", "--sort", "id")
    assert json.loads(call(*asked, "--json").out) == [
        {"id": run_id, "experiment_id": newest.id, "state": "queued", "batch": 64, "experiment": newest.id}
        for run_id in newest.runs
    ]
    lines = call(*asked, "--csv").out.splitlines()
    assert lines[0] == "id,experiment_id,state,batch,experiment"
    assert len(lines) == 1 + len(newest.runs)
    assert [line.split()[:3] for line in call(*asked).out.splitlines()[1:]] == [
        [str(run_id), "queued", "64"] for run_id in newest.runs
    ]
    assert "filtered" in call("runs", query).out
    assert "optimizer.kind" in call("runs", "--fields").out


def test_a_wrong_query_ends_with_2_and_says_what_was_expected(client: Client, call: Call) -> None:
    reported = call("runs", "batch >")
    assert (reported.code, reported.out) == (2, "")
    assert "where: expected a value at the end of the query" in reported.err
    with pytest.raises(ApiError, match="expected a value"):
        next(client.table("batch >"))


def test_the_best_of_a_program_s_metric_is_in_lists_orders_and_frames(client: Client, site: Site, call: Call) -> None:
    base = {"kind": "program", "command": "python train.py", "resources": {"kind": "local", "ranks_per_node": 1}}
    made = client.create({"name": "own", "base": base, "axes": {"parameters.lr": [0.1, 0.3]}}, force=True)
    with transaction(site.engine) as db:
        for run_id, accuracies in zip(made.runs, ([0.5, 0.9, 0.6], [0.5, 0.7, 0.8]), strict=True):
            values = [{"train/loss": 2 - one, "val/acc": one, "quux": one} for one in accuracies]
            points.put(db, run_id, [Points(attempt=1, at=0.0, step=n, values=dict(v)) for n, v in enumerate(values, 1)])
            db.get_one(Run, run_id).latest = dict(values[-1])
    rows = client.rows(made.id)
    assert [(row["best.val/acc"], row["best.train/loss"], row["latest.val/acc"]) for row in rows] == [
        (0.9, 1.1, 0.6),
        (0.8, 1.2, 0.8),
    ]
    assert "best.quux" not in rows[0]  # its name does not say which value is good
    found = client.experiment(made.id)
    assert found.objective
    assert found.best
    assert (found.objective.metric, found.best.value, found.best.run) == ("val/acc", 0.9, made.runs[0])
    (line,) = [line for line in call("list").out.splitlines() if line.startswith(f"{made.id} ")]
    assert "0.9 val/acc" in line
    shown = call("show", made.id, "--sort", "best(val/acc)").out.splitlines()
    assert "best val/acc" in shown[0]
    assert [line.split()[0] for line in shown[1:3]] == [str(run_id) for run_id in made.runs[::-1]]


def test_the_client_reads_all_pages_of_the_table(client: Client, spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = client.create(spec.read_text())
    monkeypatch.setattr(table_client, "PAGE", 1)
    found = client.table_rows("", columns=["number"], experiment_id=made.id, sort="-number")
    assert [row["id"] for row in found] == made.runs[::-1]
    assert len(list(client.table(experiment_id=made.id, limit=1))) == 1


@pytest.mark.parametrize("sort", ["", "-number", "batch, -state"])
def test_a_loop_that_archives_its_runs_visits_each_once(
    client: Client, spec: Path, monkeypatch: pytest.MonkeyPatch, sort: str
) -> None:
    made = client.create(spec.read_text())
    monkeypatch.setattr(table_client, "PAGE", 2)
    visited = []
    where = f"state = queued and experiment = {made.id}"
    for row in client.table(where, sort=sort):
        client.change_run(row.id, RunChange(archived=True))
        visited.append(row.id)
    assert sorted(visited) == made.runs
    assert list(client.table(where)) == []
