"""Mean and deviation over seeds: `bigbatch show`, its CSV, and the client's rows."""

import csv
import io
import json
from statistics import mean, stdev

import pytest

from bigbatch.client import Client
from contract.lifecycle.state import State
from tests.testing import seed_runs
from tests.testing.command import SPEC, Call, Site

DONE = [*seed_runs.TO_RUNNING, State.DONE]
ACCURACIES = [0.95, 0.96, 0.98, 0.90, 0.91, 0.10]  # two groups of three seeds; the last run fails
SWEEP = (
    SPEC.split("axes:")[0]
    + """
axes:
  optimizer: [{kind: sgd}, {kind: lars, momentum: 0.8}]
  seed: [0, 1, 2]
"""
)
PROGRAM = """
name: own
base: {kind: program, command: "true", parameters: {lr: 0.1, seed: 0}}
axes: {parameters.lr: [0.1, 0.2], parameters.seed: [1, 2]}
"""


@pytest.fixture
def sweep(client: Client, site: Site) -> int:
    created = client.create(SWEEP)
    for run_id, accuracy in zip(created.runs, ACCURACIES, strict=True):
        states = [*DONE[:-1], State.FAILED] if accuracy < 0.5 else DONE
        latest = {"heldout_accuracy": accuracy - 0.01, "loss": 1 - accuracy}
        seed_runs.move(site, run_id, states, latest=latest, objective_value=accuracy)
    return created.id


def test_show_prints_mean_and_deviation_over_seeds_below_the_runs(sweep: int, call: Call) -> None:
    shown = call("show", sweep).out
    _, below = shown.split("mean ± deviation over seed, of runs that are done:\n")
    heads, sgd, lars = below.splitlines()
    assert heads.split() == ["values", "done", "last", "accuracy", "best", "accuracy", "time"]
    assert sgd.startswith("optimizer=sgd ")
    assert "95.33 % ± 1.53 %" in sgd.replace("  ", " ")  # last: 94, 95 and 97 %
    assert "96.33 % ± 1.53 %" in sgd
    assert lars.startswith("optimizer=lars(momentum=0.8)")
    assert "2/3" in lars
    assert "90.50 % ± 0.71 %" in lars


def test_over_gives_the_groups_as_csv_and_json(sweep: int, call: Call) -> None:
    rows = list(csv.DictReader(io.StringIO(call("show", sweep, "--over", "seed", "--csv").out)))
    assert [row["optimizer"] for row in rows] == ["sgd", "lars(momentum=0.8)"]
    assert [(row["runs"], row["done"]) for row in rows] == [("3", "3"), ("3", "2")]
    assert float(rows[0]["objective_value.mean"]) == pytest.approx(mean(ACCURACIES[:3]))
    assert float(rows[0]["objective_value.deviation"]) == pytest.approx(stdev(ACCURACIES[:3]))
    assert float(rows[1]["latest.loss.most"]) == pytest.approx(0.1)
    as_json = json.loads(call("show", sweep, "--over", "seed", "--json").out)
    assert as_json[0]["objective_value.least"] == 0.95
    over_optimizer = json.loads(call("show", sweep, "--over", "optimizer", "--json").out)
    assert [(row["seed"], row["done"]) for row in over_optimizer] == [(0, 2), (1, 2), (2, 1)]
    assert over_optimizer[2]["objective_value.deviation"] is None


def test_a_field_that_does_not_vary_is_refused_with_those_that_do(sweep: int, call: Call) -> None:
    refused = call("show", sweep, "--over", "sed")
    assert refused.code == 1
    assert "--over: the runs do not vary sed; they vary optimizer, seed" in refused.err


def test_show_has_the_own_metrics_of_programs_and_the_rows_have_no_objects(
    client: Client, site: Site, call: Call
) -> None:
    created = client.create(PROGRAM)
    for number, run_id in enumerate(created.runs):
        latest = {"val_acc": 0.5 + number / 10, "compute_s": 1.0, "slowest_rank": 1.0, "val_acc/rank-1": 0.1}
        seed_runs.move(site, run_id, DONE, latest=latest)
    shown = call("show", created.id).out
    assert shown.splitlines()[0].split() == ["run", "values", "state", "step", "time", "val_acc", "reason"]
    assert "lr=0.1 seed=1" in shown
    assert "deviation over seed, of runs" in shown
    assert ["lr=0.1", "2/2", "0.55", "±", "0.07071", "0.0", "s", "±", "0.0", "s"] in [
        line.split() for line in shown.splitlines()
    ]
    assert call("show", created.id, "--over", "seed").out.count("2/2") == 2
    assert "lr=0.1 seed=1: done: val_acc 0.5\n" in call("watch", created.id).out
    seed_runs.measure(site, created.runs[0], 2, val_acc=0.5)
    assert client.curves(created.id, ["val_acc"]) == [
        {
            "id": created.runs[0],
            "parameters.lr": 0.1,
            "parameters.seed": 1,
            "series": "val_acc",
            "step": 1,
            "value": 0.5,
        },
        {
            "id": created.runs[0],
            "parameters.lr": 0.1,
            "parameters.seed": 1,
            "series": "val_acc",
            "step": 2,
            "value": 0.5,
        },
    ]


def test_the_clients_rows_are_plain_values(client: Client, sweep: int) -> None:
    rows = client.rows(sweep)
    assert [row["optimizer"] for row in rows[2:4]] == ["sgd", "lars(momentum=0.8)"]
    assert rows[0]["run_s"] >= 0
    assert [row["objective_value.most"] for row in client.rows(sweep, over="seed")] == [0.98, 0.91]


def test_search_finds_runs_of_all_experiments(client: Client, call: Call) -> None:
    first, second = (client.create(SPEC.replace("two rates", name)).runs for name in ("needle one", "haystack"))
    assert call("tag", "--run", second[0], "needles").code == 0
    found = call("search", "needle", "--runs").out.splitlines()[1:]
    assert [int(line.split()[0]) for line in found] == sorted([*first, second[0]], reverse=True)
    assert "queued" in call("search", "needle", "--runs", "--csv").out
    assert len(call("search", "needle", "--runs", "--limit", "1").out.splitlines()) == 2


@pytest.mark.ring("all")
def test_programs_are_compared_by_their_own_metrics(client: Client, site: Site, call: Call) -> None:
    first, second, *_ = client.create(PROGRAM.replace("parameters.seed: [1, 2]", "parameters.seed: [1]")).runs
    refused = call("compare", first, second)
    assert (refused.code, "is queued, not done" in refused.err) == (1, True)
    for run_id, values in ((first, [0.5, 0.9, 0.8]), (second, [0.1, None, 0.4])):
        seed_runs.move(site, run_id, DONE, latest={"val_acc": values[-1], "compute_s": 1.0}, step=3)
        for step, value in enumerate(values, start=1):
            seed_runs.measure_at(site, run_id, step, val_acc=value)
    shown = call("compare", first, second).out
    rows = [line.split() for line in shown.splitlines()]
    assert rows[0] == ["run", str(first), "run", str(second)]
    assert ["lr", "0.1", "0.2"] in rows
    assert [row[-3:] for row in rows if row[0] == "val_acc,"] == [
        ["last", "0.8", "0.4"],
        ["least", "0.5", "0.1"],
        ["most", "0.9", "0.4"],
    ]
    found = json.loads(call("compare", first, second, "--json").out)
    assert found["other"]["metrics"] == {"val_acc": {"last": 0.4, "least": 0.1, "most": 0.4}}
    engine = client.create(SPEC).runs[0]
    assert "one run is of your own program" in call("compare", first, engine).err


@pytest.mark.ring("all")
def test_runs_are_shown_in_the_order_of_any_column(sweep: int, call: Call) -> None:
    def column(order: str, name: str) -> list[str]:
        return [row[name] for row in csv.DictReader(io.StringIO(call("show", sweep, "--sort", order, "--csv").out))]

    assert column("loss", "latest.loss") == sorted(column("loss", "latest.loss"), key=float)
    assert column("-loss", "latest.loss") == column("loss", "latest.loss")[::-1]
    assert [float(value) for value in column("objective", "objective_value")] == sorted(ACCURACIES, reverse=True)
    assert column("-seed", "seed") == ["2", "2", "1", "1", "0", "0"]
    assert column("optimizer", "optimizer") == ["lars(momentum=0.8)"] * 3 + ["sgd"] * 3
    refused = call("show", sweep, "--sort", "los")
    assert (refused.code, "--sort: no run has 'los'; the columns are" in refused.err) == (1, True)


def test_runs_of_a_program_are_shown_by_a_parameter_and_by_a_metric(client: Client, site: Site, call: Call) -> None:
    created = client.create(PROGRAM)
    seed_runs.move(site, created.runs[0], DONE, latest={"reward": 3.0})
    seed_runs.move(site, created.runs[3], DONE, latest={"reward": 1.0})
    rows = list(csv.DictReader(io.StringIO(call("show", created.id, "--sort", "reward", "--csv").out)))
    assert [row["latest.reward"] for row in rows] == ["1.0", "3.0", "", ""]
    rows = list(csv.DictReader(io.StringIO(call("show", created.id, "--sort", "-lr", "--csv").out)))
    assert [row["parameters.lr"] for row in rows] == ["0.2", "0.2", "0.1", "0.1"]
