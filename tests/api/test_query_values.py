"""What the language writes finds the row that it comes from, and a name means in each run what that run has."""

import json
from typing import Any

from fastapi.testclient import TestClient
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from api.run_table.language import parse_name, parse_query
from api.run_table.written import written_value
from contract.folder.events import Points
from store.metrics import points
from store.run_table.leaves import leaf_of
from store.run_table.query import All, Comparison
from store.run_table.values import is_missing, not_finite_word, number_or_none
from store.session import transaction
from tests.testing.api import post
from tests.testing.statements import executed

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
VALUES = st.one_of(TEXTS, st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**60), 2**60), st.booleans())
ODD = [
    "none",
    "None",
    "null",
    "NaN",
    "inf",
    "true",
    "and",
    "in",
    "1",
    "0.5",
    "1e3",
    "95%",
    "50 %",
    'say "hi"',
    "it's",
    "",
]
ODD += [
    "both \" and '",
    "back\\slash",
    "a,b",
    "(x)",
    " lead",
    "trail ",
    "a  b",
    "ä ö",
    "_",
    "%",
    "-7d",
    "=",
    "`",
    '\\"',
]


def odd_examples(test: Any) -> Any:
    for value in [*ODD, True, False, 0.1, -0.0, 1e22, 1e-300, 2**53, 1]:
        test = example(value=value)(test)
    return test


@settings(max_examples=200, deadline=None, derandomize=True)
@given(value=VALUES)
@odd_examples
def test_the_language_reads_a_written_value_as_the_same_value(value: str | float | bool) -> None:
    leaf = leaf_of(value)
    found = parse_query(f"x = {written_value(leaf.text if leaf.number is None else leaf.number)} and y = 1")
    assert isinstance(found, All)
    comparison = found.parts[0]
    assert isinstance(comparison, Comparison)
    read = comparison.value
    assert not is_missing(read)
    if leaf.number is None:
        assert (read.text, number_or_none(read), not_finite_word(read)) == (leaf.text, None, None)
    else:
        assert number_or_none(read) == leaf.number


@settings(max_examples=100, deadline=None, derandomize=True)
@given(name=st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30))
def test_a_name_in_backticks_is_any_name(name: str) -> None:
    written = "`" + name.replace("`", "``") + "`"
    assert parse_name(written).text == parse_name(f"best({written})").text == name


def rows(client: TestClient, **asked: Any) -> list[Any]:
    answer = client.get("/api/v1/runs/table", params={"sort": "id", **asked})
    assert answer.status_code == 200, answer.text
    found: list[Any] = answer.json()["rows"]
    return found


def ids(client: TestClient, where: str) -> list[int]:
    return [row["id"] for row in rows(client, where=where)]


def program(client: TestClient, values: list[Any], parameter: str = "kind", **more: Any) -> list[int]:
    base = {"kind": "program", "command": "train", "parameters": {parameter: values[0], **more}}
    axes = {f"parameters.{parameter}": values} if len(values) > 1 else {}
    document = {"name": "own", "base": base, "axes": axes}
    answer = post(client, json.dumps(document), kind="application/json", force=True)
    assert answer.status_code == 201, answer.text
    made: list[int] = answer.json()["runs"]
    return made


def test_what_completion_and_groups_offer_finds_the_rows_that_it_comes_from(both: TestClient) -> None:
    made = program(both, [*ODD, 0.1, 2, -7, True])
    shown = {row["id"]: row["cells"][0] for row in rows(both, where="experiment = 2", column="parameters.kind")}
    offered = both.get("/api/v1/runs/values", params={"name": "parameters.kind"}).json()
    assert len(offered["values"]) == len(made) - 1  # true and "true" are one text
    for value, text in zip(offered["values"], offered["texts"], strict=True):
        same = [run_id for run_id, cell in shown.items() if (cell, type(cell)) == (value, type(value))]
        assert ids(both, f"parameters.kind = {text}") == same, text
    grouped = both.get("/api/v1/runs/groups", params={"by": "parameters.kind", "where": "experiment = 2"}).json()
    assert sorted(run_id for group in grouped["groups"] for run_id in ids(both, group["where"])) == made


def test_none_is_a_value_and_null_is_no_value(both: TestClient) -> None:
    none, light = program(both, ["none", "light"], "augmentation")
    assert ids(both, "augmentation = none") == [none]
    assert ids(both, "augmentation != none and experiment = 2") == [light]
    assert ids(both, "augmentation = null") == [1]
    assert ids(both, "ended = none and cause = none") == [1, none, light]


def test_a_long_text_is_found_by_all_of_it(both: TestClient) -> None:
    first, _ = program(both, ["x" * 700, "y"])
    assert ids(both, f"parameters.kind = '{'x' * 700}'") == [first]


def test_a_metric_or_a_parameter_of_others_changes_no_run_s_meaning(both: TestClient, engine: Engine) -> None:
    low, high = program(both, [0.1, 0.5], "lr")
    (other,) = program(both, [3], "depth")
    assert ids(both, "lr = 0.1") == [low]
    with transaction(engine) as db:
        for run_id, value in ((low, 0.7), (other, 0.1)):
            points.put(db, run_id, [Points(attempt=1, at=0.0, step=1, values={"lr": value, "acc": value})])
    assert ids(both, "lr = 0.1") == [low, other]  # in a run without the parameter it is the metric
    assert ids(both, "lr != 0.1") == [1, high]
    assert ids(both, "lr = null") == [1]
    assert (ids(both, "parameters.lr = 0.1"), ids(both, "last(lr) = 0.1")) == ([low], [other])
    assert ids(both, "acc < 0.2") == [other]
    (later,) = program(both, [9], "acc")
    assert ids(both, "acc < 0.2") == [other]
    assert ids(both, "acc = 9 or acc ~ x") == [later]
    assert [row["cells"] for row in rows(both, where="lr != null", column=["lr", "acc"])] == [
        [0.1, 0.7],
        [0.5, None],
        [0.1, 0.1],
    ]
    assert [row["id"] for row in rows(both, sort="-lr,id", where="id > 1")] == [high, low, other, later]
    assert both.get("/api/v1/runs/values", params={"name": "lr"}).json()["values"] == [0.1, 0.5]


def test_the_seed_of_a_program_is_found_as_that_of_the_engine(both: TestClient) -> None:
    zero, one = program(both, [0, 1], "seed")
    assert ids(both, "seed = 0") == [1, zero]
    assert ids(both, "seed = 1") == [one]


def test_a_text_as_optimizer_is_found_where_another_run_logs_such_a_metric(both: TestClient, engine: Engine) -> None:
    own, _ = program(both, ["lars", "sgd"], "optimizer")
    with transaction(engine) as db:
        points.put(db, own, [Points(attempt=1, at=0.0, step=1, values={"optimizer": 1.0})])
    assert ids(both, "optimizer = lars") == [1, own]
    assert ids(both, "optimizer ~ LAR") == [1, own]


def test_runs_do_not_vanish_when_another_path_ends_as_theirs(both: TestClient, engine: Engine) -> None:
    (first,) = program(both, [{"lr": 0.1}], "a")
    assert ids(both, "lr = 0.1") == [first]
    with transaction(engine) as db:
        points.put(db, 1, [Points(attempt=1, at=0.0, step=1, values={"lr": 0.1})])
    (second,) = program(both, [{"lr": 0.1}], "b")
    assert ids(both, "lr = 0.1") == [1, first, second]
    (third,) = program(both, [0.1], "lr")
    assert ids(both, "lr = 0.1") == [1, first, second, third]
    assert ids(both, "parameters.lr = 0.1") == [third]
    (rate,) = program(both, [{"rate": 7}], "warmup")
    assert ids(both, "rate = 7") == [rate]
    assert ids(both, "rate != null") == [1, rate]


def test_a_name_for_which_paths_alone_stand_that_end_so_is_refused_with_two_of_them(both: TestClient) -> None:
    program(both, [{"lr": 0.1}], "a")
    program(both, [{"lr": 0.1}], "b")
    answer = both.get("/api/v1/runs/table", params={"where": "lr = 0.1"})
    assert answer.status_code == 422
    assert "several end so, as 'parameters.a.lr' and 'parameters.b.lr'" in answer.text


def test_what_the_engine_measures_stands_for_no_path_that_ends_so(both: TestClient, engine: Engine) -> None:
    (own,) = program(both, [{"loss": 3}], "weights")
    with transaction(engine) as db:
        points.put(db, own, [Points(attempt=1, at=0.0, step=1, values={"loss": 0.5})])
    assert ids(both, "loss = 0.5") == [own]
    assert ids(both, "loss = 3") == []


def test_the_paths_of_specs_are_read_once_for_all_columns_of_a_table(both: TestClient, engine: Engine) -> None:
    (own,) = program(both, [0.1], "lr")
    names = ["lr", "depth", "acc", "width"]
    with transaction(engine) as db:
        points.put(db, own, [Points(attempt=1, at=0.0, step=1, values=dict.fromkeys(names[1:], 0.5))])
    with executed(engine) as sent:
        found = rows(both, where="lr = 0.1 and acc = 0.5", column=names, skip_unknown=True)
    assert [row["cells"] for row in found] == [[0.1, 0.5, 0.5, 0.5]]
    assert len([sql for sql in sent if "RECURSIVE" in sql and "experiment_fields.path" in sql]) == 1
