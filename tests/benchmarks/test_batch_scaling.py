"""The batch-scaling benchmark tunes every method alike, and its intervals and its report say what the runs show."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from benchmarks.batch_scaling import nets, report, tuning
from benchmarks.batch_scaling.intervals import Interval, difference, finding, interval
from benchmarks.batch_scaling.points import baseline_of, largest_holding, measured_point, measured_points
from benchmarks.batch_scaling.problems import (
    OPTIMIZERS,
    PROBLEMS,
    RATES,
    SCALED,
    SEEDS,
    WARMUPS,
    Cell,
    Problem,
    Trial,
    cells_of,
    spec_of,
)
from benchmarks.batch_scaling.runs import EndingReporter, Key, Row, key_of, measure_cell, missing_trials, read_rows
from contract.folder.run_folder import RunFolder
from contract.spec.run import RunSpec
from trainers.training.diverged import Diverged

SHORT, LONG = WARMUPS


def search(method: str, peak: float) -> dict[Trial, float]:
    """Tune a method whose accuracy falls with the distance of its rate from `peak`, and is best with a long warm-up."""
    known: dict[Trial, float] = {}
    while trials := tuning.next_trials(method, known):
        for trial in trials:
            away = max(trial.rate / peak, peak / trial.rate)
            known[trial] = 1 / away + (0.01 if trial.warmup == LONG else 0.0)
    return known


def rows_of(accuracies: dict[tuple[str, int], list[float]], problem: str = "alexnet_bn") -> dict[Key, Row]:
    """Return complete rows: each cell is best at its method's middle rate, and has these accuracies over the seeds."""
    rows: dict[Key, Row] = {}

    def add(cell: Cell, trial: Trial, seed: int, accuracy: float) -> None:
        row = {**cell._asdict(), **trial._asdict(), "seed": seed, "accuracy": accuracy, "epochs": 32, "seconds": 2.0}
        rows[key_of(row)] = row

    for (method, batch), found in accuracies.items():
        cell, best = Cell(problem, method, batch), Trial(RATES["sgd" if method == SCALED else method][1], SHORT)
        while trials := missing_trials(cell, rows):
            for trial in trials:
                add(cell, trial, 0, 0.9 if trial == best else 0.5)
        for seed, accuracy in zip(SEEDS, found, strict=True):
            add(cell, best, seed, accuracy)
    return rows


@pytest.mark.parametrize("method", RATES)
@pytest.mark.parametrize("exponent", range(7))
def test_every_method_is_tuned_with_seven_runs_wherever_its_best_rate_is(method: str, exponent: int) -> None:
    peak = RATES[method][0] / 2 * 2**exponent
    known = search(method, peak)
    assert len(known) == 7
    assert tuning.best(known) == Trial(peak, LONG)


@pytest.mark.parametrize(("peak", "at_edge"), [(0.05, True), (0.1, False), (3.2, False), (100.0, True)])
def test_a_best_rate_at_the_edge_of_the_search_is_marked(peak: float, at_edge: bool) -> None:
    assert tuning.is_at_edge("sgd", tuning.best(search("sgd", peak))) is at_edge


def test_of_equal_trials_the_smallest_rate_and_the_shortest_warm_up_are_best() -> None:
    assert tuning.best({Trial(2.0, 2.0): 0.5, Trial(1.0, 6.0): 0.5, Trial(1.0, 2.0): 0.5}) == Trial(1.0, 2.0)


def test_the_interval_of_three_values_is_students() -> None:
    found = interval([0.1, 0.2, 0.3])
    assert (found.mean, found.half) == pytest.approx((0.2, 4.30265 * 0.1 / 3**0.5), rel=1e-5)


def test_the_interval_of_a_difference_has_welchs_degrees_of_freedom() -> None:
    equal_spread = difference([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])  # 4 degrees of freedom
    assert (equal_spread.mean, equal_spread.half) == pytest.approx((-3.0, 2.77645 * (2 / 3) ** 0.5), rel=1e-5)
    one_without_spread = difference([1.0, 2.0, 3.0], [4.0, 4.0, 4.0])  # 2 of them
    assert one_without_spread.half == pytest.approx(4.30265 / 3**0.5, rel=1e-5)
    assert difference([1.0, 1.0], [2.0, 2.0]) == Interval(-1.0, 0.0)


@pytest.mark.parametrize(
    ("mean", "half", "found"),
    [
        (0.0, 0.009, "holds"),
        (0.02, 0.029, "holds"),
        (-0.005, 0.006, "open"),
        (-0.03, 0.03, "open"),
        (-0.03, 0.01, "loses"),
    ],
)
def test_a_batch_holds_or_loses_only_if_its_whole_interval_does(mean: float, half: float, found: str) -> None:
    assert finding(Interval(mean, half)) == found


@pytest.mark.parametrize("cell", [cell for name in PROBLEMS for cell in cells_of(name)], ids=str)
def test_every_cell_is_a_spec_that_can_run(cell: Cell) -> None:
    run = RunSpec.model_validate(spec_of(cell, Trial(0.1, LONG), seed=1))
    assert run.epochs == 32
    assert max(stage.batch for stage in run.batch_schedule.stages) == cell.batch


def test_linear_scaling_multiplies_sgds_rate_by_the_batch_and_differs_from_sgd_in_nothing_else() -> None:
    trial = Trial(0.4, SHORT)
    scaled, plain = (
        RunSpec.model_validate(spec_of(Cell("convnet", method, 512), trial, 0)) for method in (SCALED, "sgd")
    )
    assert (scaled.peak_rate, plain.peak_rate) == pytest.approx((0.4 * 512 / 64, 0.4))
    assert scaled.model_copy(update={"schedule": plain.schedule}) == plain


def test_linear_scaling_waits_for_sgds_rate_at_the_smallest_batch_and_chooses_the_warm_up_alone() -> None:
    cell = Cell("convnet", SCALED, 256)
    with pytest.raises(ValueError, match="not tuned yet"):
        missing_trials(cell, {})
    rows = rows_of({("sgd", 64): [0.9, 0.9, 0.9]}, "convnet")
    assert missing_trials(cell, rows) == [Trial(RATES["sgd"][1], warmup) for warmup in WARMUPS]


def test_a_cell_with_a_missing_run_has_no_point() -> None:
    rows = rows_of({("sgd", 64): [0.9, 0.91, 0.92]})
    cell = Cell("alexnet_bn", "sgd", 64)
    assert measured_point(cell, rows)
    for key in rows:
        assert measured_point(cell, {other: row for other, row in rows.items() if other != key}) is None


def test_finished_runs_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    rows = rows_of({("lars", 512): [0.9, 0.91, 0.92]})
    (tmp_path / "runs.jsonl").write_text("".join(f"{report.json.dumps(row)}\n" for row in rows.values()))
    assert read_rows(tmp_path / "runs.jsonl") == rows
    assert read_rows(tmp_path / "absent.jsonl") == {}


def test_the_report_states_what_holds_with_intervals_and_effort_and_what_is_missing() -> None:
    rows = rows_of(
        {
            ("sgd", 64): [0.970, 0.971, 0.972],
            ("lars", 64): [0.960, 0.961, 0.962],
            ("sgd", 512): [0.930, 0.931, 0.932],
            ("lars", 512): [0.968, 0.969, 0.970],
        }
    )
    written = report.text("alexnet_bn", rows)
    assert "| 64 | 97.1 ± 0.2 baseline (0.4, 2) | 96.1 ± 0.2 open (32, 2) |" in written
    assert "| 512 | 93.1 ± 0.2 loses (0.4, 2) | 96.9 ± 0.2 holds (32, 2) |" in written
    assert "- lars minus sgd: 64: -1.0 ± 0.2; 512: +3.8 ± 0.2" in written
    assert "| lars | 7 | 6 | 40 |" in written
    assert "Not measured: sgd at 1024, sgd at 2048, lars at 1024, lars at 2048." in written


@pytest.mark.ring("all")
def test_cells_are_tuned_and_measured_by_real_runs_and_not_executed_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digits = Problem(
        {"kind": "convnet", "width": 2}, {"kind": "digits"}, batches=(256,), methods=("sgd",), chance=0.1, epochs=8
    )
    monkeypatch.setitem(PROBLEMS, "digits", digits)
    cell, finished = Cell("digits", "sgd", 256), tmp_path / "runs.jsonl"
    measure_cell(cell, finished)
    rows = read_rows(finished)
    point = measured_point(cell, rows)
    assert point
    assert (len(rows), point.steps) == (7 + len(SEEDS), 8 * (1437 // 256))
    assert point.chosen == tuning.best({key.trial: row["accuracy"] for key, row in rows.items() if key.seed == 0})
    assert min(point.accuracies) > 0.5
    written = finished.read_text()
    measure_cell(cell, finished)
    assert finished.read_text() == written


def test_a_problem_without_its_small_batch_is_not_reported() -> None:
    assert report.text("gnmt", rows_of({("sgd", 512): [0.9, 0.9, 0.9]}, "gnmt")) == "gnmt: not measured"


def test_the_largest_holding_batch_ends_at_the_first_loss() -> None:
    rows = rows_of({("sgd", 64): [0.97] * 3, ("sgd", 512): [0.95] * 3, ("sgd", 1024): [0.97] * 3})
    points = measured_points("alexnet_bn", rows)
    baseline = baseline_of(points)
    assert baseline
    assert largest_holding(points, "sgd", baseline) == 64
    assert largest_holding(points, "lars", baseline) == 0


def test_a_run_at_chance_ends_after_half_of_its_epochs_and_no_other_run_does(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.prepare(RunSpec.model_validate(spec_of(Cell("convnet", "sgd", 64), Trial(0.1, SHORT), 0)))
    reporter = EndingReporter(folder, half=16, chance=0.05)
    values = {"epoch": 16, "heldout_loss": 3.0, "heldout_accuracy": 0.04}
    reporter.epoch(8, values | {"epoch": 15})
    reporter.epoch(16, values | {"heldout_accuracy": 0.06})
    with pytest.raises(Diverged, match=r"4\.00%"):
        reporter.epoch(16, values)


@pytest.mark.parametrize(("make", "layers"), [(nets.alexnet_bn, 8), (nets.resnet50_v2, 54)])
def test_the_small_nets_have_the_layers_of_the_published_ones(
    make: Callable[..., torch.nn.Module], layers: int
) -> None:
    net = make(channels=1, classes=26)
    weighted = [m for m in net.modules() if isinstance(m, torch.nn.Conv2d | torch.nn.Linear)]
    assert len(weighted) == layers
    assert net(torch.zeros(2, 1, 28, 28)).shape == (2, 26)


def test_all_methods_have_an_optimizer() -> None:
    assert {method for problem in PROBLEMS.values() for method in problem.methods} <= set(OPTIMIZERS)
