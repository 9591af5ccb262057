"""The objective of an experiment on the command line: its options, lists, orders, marks and results."""

import csv
import io

import pytest

from bigbatch.client import Client
from contract.lifecycle.state import State
from tests.testing import seed_runs
from tests.testing.command import Call, Site

pytestmark = pytest.mark.ring("gate")
PROGRAM = "name: own\nbase: {kind: program, command: 'echo {lr}'}\naxes: {parameters.lr: [0.1, 0.2]}\n"
DONE = [*seed_runs.TO_RUNNING, State.DONE]


def sweep(client: Client, site: Site, objective: str = "{metric: val_loss, goal: min}") -> tuple[int, list[int]]:
    """Store two runs that are done: the first has the least loss of all, the second the least last one."""
    created = client.create(f"{PROGRAM}objective: {objective}\n")
    for run_id, losses in zip(created.runs, ([0.9, 0.25, 0.5], [0.8, 0.375, 0.4]), strict=True):
        for step, loss in enumerate(losses, start=1):
            seed_runs.measure_at(site, run_id, step, val_loss=loss, val_acc=loss)
        seed_runs.move(site, run_id, DONE, step=3, latest={"val_acc": losses[-1], "val_loss": losses[-1]})
    return created.id, created.runs


def test_run_writes_the_objective_into_the_experiment(call: Call) -> None:
    printed = call("run", "--objective", "val_loss", "--goal", "min", "--print", "--", "python", "t.py").out
    assert "objective:\n  metric: val_loss\n  goal: min\n" in printed
    printed = call("run", "--objective", "acc", "--objective-value", "last", "--print", "--", "python", "t.py").out
    assert "objective:\n  metric: acc\n  value: last\n" in printed


@pytest.mark.parametrize("option", [("--goal", "min"), ("--objective-value", "last")])
def test_a_goal_without_an_objective_is_refused(call: Call, option: tuple[str, str]) -> None:
    refused = call("run", *option, "--", "python", "t.py")
    assert refused.code != 0
    assert f"{option[0]}: the option needs --objective METRIC" in refused.err


@pytest.mark.usefixtures("client")
def test_a_metric_whose_name_says_nothing_is_refused_with_the_field(call: Call) -> None:
    refused = call("run", "--no-snapshot", "--objective", "quux", "--", "python", "t.py")
    assert refused.code != 0
    assert "objective.goal: the name 'quux' does not say whether higher or lower is better" in refused.err


def test_lists_have_the_best_value_with_its_metric_and_go_by_it(client: Client, site: Site, call: Call) -> None:
    number, (first, _) = sweep(client, site)
    (line,) = [line for line in call("list", "--sort", "objective").out.splitlines() if line.startswith(f"{number} ")]
    assert "0.25 val_loss" in line
    rows = list(csv.DictReader(io.StringIO(call("list", "--sort", "objective", "--csv").out)))
    (row,) = [row for row in rows if row["id"] == str(number)]
    fields = ("objective.metric", "objective.goal", "objective.value", "best.value", "best.run")
    assert [row[name] for name in fields] == ["val_loss", "min", "best", "0.25", str(first)]


@pytest.mark.parametrize(
    ("objective", "head", "first"),
    [
        ("{metric: val_loss, goal: min}", "best val_loss", 0),
        ("{metric: val_acc, goal: min}", "best val_acc", 0),
        ("{metric: val_loss, value: last}", None, 1),
    ],
)
def test_show_has_the_objective_and_its_order_is_the_best_first(
    client: Client, site: Site, call: Call, objective: str, head: str | None, first: int
) -> None:
    number, ids = sweep(client, site, objective)
    heads, one, two = call("show", number, "--sort", "objective").out.splitlines()
    assert (head or "best") in heads or head is None
    ordered = [ids[first], ids[1 - first]]
    assert [int(line.split()[0]) for line in (one, two)] == ordered
    shown = call("show", number, "--sort=-objective").out.splitlines()[1:]
    assert [int(line.split()[0]) for line in shown] == ordered[::-1]
    assert {call("show", number, "--sort", name).out for name in ("best", "accuracy")} == {
        call("show", number, "--sort", "objective").out
    }


def test_watch_says_the_best_value_of_each_run(client: Client, site: Site, call: Call) -> None:
    number, (first, _) = sweep(client, site)
    line = next(line for line in call("watch", number).out.splitlines() if line.startswith(f"run {first} "))
    assert line == f"run {first} lr=0.1: done: val_acc 0.5, val_loss 0.5 (best val_loss 0.25)"


def test_rows_have_the_value_of_the_objective(client: Client, site: Site) -> None:
    number, _ = sweep(client, site)
    assert [row["objective_value"] for row in client.rows(number)] == [0.25, 0.375]
