"""Tests of lists: their filters, orders and pages, alike on both databases."""

from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from itertools import combinations
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, text

from contract.api.list_sort import ExperimentSort, RunSort
from contract.lifecycle.state import JOINT_ORDER, State, joint_state
from store.session import transaction
from store.tables.experiments import Experiment
from store.tables.runs import Run
from tests.testing.api import post

GRID = """
name: three seeds
base:
  optimizer: {kind: lars}
  schedule: {kind: polynomial, rate: 8.0}
  batch: 64
  epochs: 3
axes:
  seed: [0, 1, 2]
"""
NAMES = ["b", "A", "ä", "a", "B", "b", "_", "10", "9", "a b"]
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
Item = dict[str, Any]


def items(client: TestClient, path: str, **asked: Any) -> list[Item]:
    """Return all items of a list, requested in pages of two."""
    found: list[Item] = []
    place: dict[str, int] = {}
    while True:
        answer = client.get(f"/api/v1/{path}", params={"limit": 2, **asked, **place})
        assert answer.status_code == 200, answer.text
        found += answer.json()["items"]
        if answer.json()["next"] is None:
            return found
        place = {"before": answer.json()["next"]}


def in_order(found: list[Item], sort: str) -> list[Item]:
    """Return the items that have a value of the field in `sort`, in this order; Python orders by code point, too."""
    field = sort.removeprefix("-")
    read = datetime.fromisoformat if field.endswith("_at") else lambda value: value
    shown = [item for item in found if item[field] is not None]
    return sorted(shown, key=lambda item: (read(item[field]), item["id"]), reverse=sort.startswith("-"))


@pytest.fixture
def several(both: TestClient, engine: Engine) -> TestClient:
    """Ten more experiments and runs, whose moments are neither unique nor in the order of their ids."""
    with transaction(engine) as db:
        for number, name in enumerate(NAMES):
            db.add(Experiment(name=name, spec={}, created_at=BEGIN + timedelta(microseconds=number * 7 % 4)))
        db.flush()
        first = db.get_one(Run, 1)
        for number in range(10):
            moment = BEGIN + timedelta(microseconds=number * 7 % 4)
            columns = {"experiment_id": 1, "number": number + 1, "key": f"key-{number}", "created_at": moment}
            copied = {name: getattr(first, name) for name in ("spec", "values", "cluster", "world", "steps")}
            db.add(Run(**columns, **copied, ended_at=moment if number % 3 else None))
    return both


@pytest.mark.ring("all")
@pytest.mark.parametrize(("path", "sorts"), [("experiments", ExperimentSort), ("runs", RunSort)])
def test_pages_together_are_the_list_in_its_order(several: TestClient, path: str, sorts: type[StrEnum]) -> None:
    every = items(several, path)
    assert len(every) == 11
    for sort in sorts:
        assert items(several, path, sort=sort) == in_order(every, sort), sort


@pytest.mark.postgres
@pytest.mark.parametrize("database_kind", ["postgres"])
def test_the_order_of_names_does_not_depend_on_the_language_of_a_database(several: TestClient, engine: Engine) -> None:
    columns = "SELECT collation_name FROM information_schema.columns WHERE (table_name, column_name) = "
    with engine.connect() as connection:
        assert connection.scalar(text(columns + "('experiments', 'name')")) == "C"
    found = items(several, "experiments", sort="name")
    assert [item["name"] for item in found] == sorted(item["name"] for item in found)


def test_a_list_without_a_sort_is_newest_first(several: TestClient) -> None:
    for path in ("experiments", "runs"):
        found = [item["id"] for item in items(several, path)]
        assert found == sorted(found, reverse=True)


def test_a_sorted_list_takes_filters(several: TestClient) -> None:
    found = items(several, "experiments", sort="-name", name="b")
    assert [item["name"] for item in found] == ["b", "b", "a b"]
    assert items(several, "runs", sort="ended_at", state="done") == []


def test_experiments_are_found_by_the_state_that_they_show(both: TestClient, engine: Engine) -> None:
    mixes = [*combinations(State, 1), *combinations(State, 2)]
    with transaction(engine) as db:
        run = db.get_one(Run, 1)
        copied = {name: getattr(run, name) for name in ("spec", "values", "cluster", "world", "steps")}
        for mix in mixes:
            experiment = Experiment(name=" and ".join(mix), spec={})
            db.add(experiment)
            db.flush()
            for number, state in enumerate(mix):
                key = f"{experiment.id}-{number}"
                db.add(Run(experiment_id=experiment.id, number=number, key=key, state=state, **copied))
        db.add(Experiment(name="no runs", spec={}))
    every = items(both, "experiments")
    for state in State:
        wanted = [item["id"] for item in every if item["state"] == state]
        assert wanted
        assert [item["id"] for item in items(both, "experiments", state=state)] == wanted


def test_the_order_of_joint_states_has_every_state() -> None:
    assert {*JOINT_ORDER} == {*State}
    assert joint_state({}) == State.DONE


def test_the_runs_of_an_experiment_are_found_by_their_state(both: TestClient, engine: Engine) -> None:
    post(both, GRID)
    with transaction(engine) as db:
        db.get_one(Run, 3).state = State.FAILED
    asked: dict[str, Any] = {"state": "queued", "limit": 1}
    first = both.get("/api/v1/experiments/2/runs", params=asked).json()
    rest = both.get("/api/v1/experiments/2/runs", params={**asked, "after": first["next"]}).json()
    assert [run["id"] for run in first["items"] + rest["items"]] == [2, 4]
    assert rest["next"] is None


REFUSED = {
    "experiments?sort=best": "sort",
    "experiments?sort=--id": "sort",
    "experiments?sort=ended_at": "sort",
    "experiments?sort=": "sort",
    "experiments?state=on": "state",
    "experiments?sort=name&before=99": "before",
    "experiments/1/runs?state=on": "state",
    "runs?sort=name": "sort",
    "runs?sort=ended_at&before=99": "before",
    "runs?sort=ended_at&before=1": "before",
}


def test_an_unknown_order_state_or_place_is_refused(both: TestClient) -> None:
    for path, field in REFUSED.items():
        answer = both.get(f"/api/v1/{path}")
        assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json"), path
        assert [error["path"] for error in answer.json()["errors"]] == [field], path


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(("part", "found"), [("against", 1), ("AGAINST", 0), ("%", 0), ("nothing", 0)])
def test_experiments_are_found_by_a_part_of_their_name(both: TestClient, part: str, found: int) -> None:
    assert len(both.get("/api/v1/experiments", params={"name": part}).json()["items"]) == found


@pytest.mark.parametrize("path", ["experiments", "runs"])
def test_lists_begin_at_a_moment_in_any_zone(both: TestClient, path: str) -> None:
    created = datetime.fromisoformat(both.get(f"/api/v1/{path}").json()["items"][0]["created_at"])

    def count(moment: datetime) -> int:
        zoned = moment.astimezone(timezone(timedelta(hours=9))).isoformat()
        return len(both.get(f"/api/v1/{path}", params={"since": zoned}).json()["items"])

    assert (count(created), count(created + timedelta(seconds=1))) == (1, 0)
    numbers = ("1795400000", "1.8e9")  # pydantic takes seconds since 1970 for a moment
    for bad in ("2026-01-01T00:00:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "x", *numbers):
        assert both.get(f"/api/v1/{path}", params={"since": bad}).status_code == 422


def test_runs_are_found_by_a_text_in_notes_tags_or_the_experiments_name(both: TestClient) -> None:
    assert post(both, GRID).status_code == post(both, GRID.replace("three", "needle", 1)).status_code == 201
    named = [run["id"] for run in both.get("/api/v1/runs?q=needle").json()["items"]]
    every = [run["id"] for run in both.get("/api/v1/runs").json()["items"]]
    others = [run_id for run_id in every if run_id not in named]
    assert named
    assert others
    assert both.patch(f"/api/v1/runs/{others[0]}", json={"notes": "a Needle of 10 %"}).status_code == 200
    assert both.patch(f"/api/v1/runs/{others[1]}", json={"add_tags": ["needles"]}).status_code == 200

    def found(text: str) -> list[int]:
        return [run["id"] for run in both.get("/api/v1/runs", params={"q": text, "limit": 100}).json()["items"]]

    assert found("needle") == sorted([*named, *others[:2]], reverse=True)
    assert found("NEEDLE of 10 %") == [others[0]]
    assert found("eedle") == sorted([*named, *others[:2]], reverse=True)
    assert found("needle_") == []
