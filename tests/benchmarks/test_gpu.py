"""`make gpu` says clearly that there is no GPU, and its rehearsal runs the code of every check on two ranks of CPUs."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.gpu import benchmark
from benchmarks.gpu.place import Place, check_close
from benchmarks.gpu.rank import CHECKS
from tests.testing.trainers.forked_ranks import on_ranks

LONG = {"layouts", "precision", "rules", "launches", "compile"}  # whole steps of a net, several times


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process and those that it starts see no GPU."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)


def figures_of(name: str) -> dict[str, Any]:
    return CHECKS[name](Place(torch.device("cpu")))


def numbers_in(figures: Any) -> list[float]:
    if isinstance(figures, dict):
        return [number for part in figures.values() for number in numbers_in(part)]
    return [float(figures)]


@pytest.mark.ring("all")
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] * (name in LONG)) for name in CHECKS])
def test_a_check_runs_on_cpus(name: str) -> None:
    for figures in on_ranks(2, figures_of, name):
        numbers = numbers_in(json.loads(json.dumps(figures)))
        assert numbers
        assert all(math.isfinite(number) for number in numbers)


@pytest.mark.usefixtures("no_gpu")
def test_without_a_gpu_nothing_is_measured_and_the_exit_status_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(benchmark, "RESULT", tmp_path / "gpu.json")
    with pytest.raises(SystemExit) as stopped:
        benchmark.main([])
    assert stopped.value.code == benchmark.NO_GPU
    assert "This machine has no GPU that PyTorch" in capsys.readouterr().err
    assert not (tmp_path / "gpu.json").exists()


@pytest.mark.ring("all")
def test_the_rehearsal_runs_processes_and_reports_where_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(benchmark, "RESULT", tmp_path / "gpu.json")
    with pytest.raises(SystemExit) as stopped:
        benchmark.main(["--cpu", "--check", "job", "--check", "lstm_weights", "--output", str(tmp_path / "found.json")])
    out = capsys.readouterr().out
    assert stopped.value.code == 0, out
    assert "2 of 2 checks passed" in out
    found = json.loads((tmp_path / "found.json").read_text())
    assert (found["rehearsal"], found["ranks"]) == (True, 2)
    assert [(row["check"], row["ok"]) for row in found["checks"]] == [("job", True), ("lstm_weights", True)]
    assert found["checks"][0]["figures"]["heldout_accuracy"] > 0.9
    assert not (tmp_path / "gpu.json").exists()


@pytest.mark.ring("all")
@pytest.mark.usefixtures("no_gpu")
def test_a_failed_check_is_reported_and_the_next_one_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """Forces ranks that request a GPU where there is none."""
    rows = benchmark.run_checks(["tf32"], 2, cpu=False)
    rows += benchmark.run_checks(["lstm_weights"], 1, cpu=True)
    assert [row["ok"] for row in rows] == [False, True]
    assert "DeviceError: the spec requests GPUs (make gpu), but rank 0" in rows[0]["error"]
    assert "lstm_weights" in capsys.readouterr().out


def test_a_check_that_hangs_ends_at_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "CHECK_S", 0.2)
    (row,) = benchmark.run_checks(["waits"], 2, cpu=True)
    assert not row["ok"]
    assert row["error"] == "benchmarks.gpu.rank ran longer than 0.2 s"
    monkeypatch.setattr(benchmark, "TOTAL_S", 0.0)
    (row,) = benchmark.run_checks(["waits"], 2, cpu=True)
    assert "not run" in row["error"]


def test_a_wrong_result_fails_a_check() -> None:
    assert check_close(torch.ones(3), torch.ones(3), tolerance=0.0, name="ones") == 0.0
    with pytest.raises(AssertionError, match=r"ones: the largest difference is 1, above 0\.5"):
        check_close(torch.ones(3), torch.zeros(3), tolerance=0.5, name="ones")
    with pytest.raises(AssertionError, match="the largest difference is nan"):
        check_close(torch.tensor([torch.nan]), torch.zeros(1), tolerance=0.5, name="nan")
