"""Tests of `bigbatch runs` and of the client's table of runs."""

import json
from pathlib import Path

import pytest

from bigbatch import table_client
from bigbatch.client import Client
from bigbatch.errors import ApiError
from contract.api.labels import RunChange
from tests.testing.command import Call


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
