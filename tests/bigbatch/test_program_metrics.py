"""Programs in the tables and in the progress: their own metrics, and how many are left out."""

import csv
import io

import pytest
from rich.console import Console

from bigbatch.client import Client
from bigbatch.terminal.progress import LineDisplay, describe_progress, summarize
from contract.lifecycle.state import State
from tests.testing import seed_runs
from tests.testing.command import Call, Site
from tests.testing.seed_runs import TO_RUNNING

pytestmark = pytest.mark.ring("gate")
PROGRAM = "name: own\nbase: {kind: program, command: 'echo {lr}', steps: STEPS}\naxes: {parameters.lr: [0.1, 0.2]}\n"
NEWEST = {"loss": 0.5, "val/acc": 0.75, "grad_norm": 2.0, "weight_norm": 3.0, "epoch": 1.0}


def program(client: Client, site: Site, steps: int = 0, state: State | None = None) -> tuple[int, list[int]]:
    """An experiment of two programs that have logged; return its id and theirs."""
    created = client.create(PROGRAM.replace("STEPS", str(steps)))
    for number, run_id in enumerate(created.runs):
        for step, accuracy in ((1, 0.5), (2, 0.9 - number / 10), (3, 0.75)):
            seed_runs.measure_at(site, run_id, step, **{"val/acc": accuracy})
        seed_runs.move(site, run_id, [*TO_RUNNING, *([state] if state else [])], step=3, latest=NEWEST)
    return created.id, created.runs


@pytest.mark.parametrize("steps", [0, 40])
def test_progress_shows_the_main_metric_of_a_program_first(client: Client, site: Site, steps: int) -> None:
    number, _ = program(client, site, steps)
    first = next(client.runs(number))
    of = f"/{steps}" if steps else ""
    assert describe_progress(first) == f"3{of}  val/acc 0.75, loss 0.5, grad_norm 2"


def test_a_program_of_unknown_length_has_no_share_and_its_end_is_printed_at_once(client: Client, site: Site) -> None:
    number, run_ids = program(client, site)
    assert summarize(list(client.runs(number))) == "0 of 2 runs ended: 2 running"
    printed = io.StringIO()
    display = LineDisplay(Console(file=printed, width=200))
    display.show(list(client.runs(number)))
    for run_id in run_ids:
        seed_runs.move(site, run_id, [State.DONE])
    display.show(list(client.runs(number)))
    assert printed.getvalue().splitlines()[-1] == "2 of 2 runs ended: 2 done"


def test_the_result_says_how_many_metrics_it_leaves_out(client: Client, site: Site, call: Call) -> None:
    number, (first, _) = program(client, site, state=State.DONE)
    line = next(line for line in call("watch", number).out.splitlines() if line.startswith(f"run {first} "))
    values = "val/acc 0.75, loss 0.5, grad_norm 2 (best val/acc 0.9)"
    assert line == f"run {first} lr=0.1: done: {values}, 2 more: bigbatch show {number} --metrics"


def test_show_has_the_best_value_and_says_how_many_metrics_it_leaves_out(
    client: Client, site: Site, call: Call
) -> None:
    number, (first, second) = program(client, site, state=State.DONE)
    heads, one, two, more = call("show", number).out.splitlines()
    assert " ".join(heads.split()) == "run values state step time val/acc loss grad_norm best val/acc reason"
    assert one.split()[-4:] == ["0.75", "0.5", "2", "0.9"]
    assert two.split()[-4:] == ["0.75", "0.5", "2", "0.8"]
    assert more == f"2 more metrics: bigbatch show {number} --metrics"
    every = [line.split() for line in call("show", number, "--metrics").out.splitlines()[1:]]
    assert [row[2:4] for row in every if row[0] == str(first)] == [
        [name, f"{value:.4g}"] for name, value in sorted(NEWEST.items())
    ]
    for order, ids in (
        ("best", [first, second]),
        ("best(val/acc)", [second, first]),
        ("-best(val/acc)", [first, second]),
    ):
        printed = call("show", number, "--sort", order, "--csv").out
        assert [int(row["id"]) for row in csv.DictReader(io.StringIO(printed))] == ids, order


def test_the_list_has_the_best_value_of_programs_and_no_share_of_unknown_steps(
    client: Client, site: Site, call: Call
) -> None:
    number, _ = program(client, site)
    _, row, *_ = call("list", "--limit", 1).out.splitlines()
    assert row.split()[:8] == [str(number), "own", "running", "0/2", "ended", "2", "0.9", "val/acc"]
    [fields] = csv.DictReader(io.StringIO(call("list", "--limit", 1, "--csv").out))
    assert [fields[name] for name in ("objective.metric", "objective.goal", "best.value")] == ["val/acc", "max", "0.9"]


def test_an_accuracy_that_a_program_logs_in_percent_is_not_multiplied(client: Client, site: Site, call: Call) -> None:
    created = client.create(PROGRAM.replace("STEPS", "0"))
    latest = {"heldout_accuracy": 93.5, "loss": 0.1}
    seed_runs.measure_at(site, created.runs[0], 2, heldout_accuracy=94.25)
    seed_runs.move(site, created.runs[0], TO_RUNNING, step=3, latest=latest)
    row = call("show", created.id).out.splitlines()[1]
    assert row.split()[-2:] == ["93.5", "94.25"]
    assert "94.25" in call("list", "--limit", 1).out
    assert "%" not in call("list", "--limit", 1).out
