"""The benchmarks of the papers' headline figures run on real ranks of this machine."""

import os
from pathlib import Path

import pytest

from benchmarks.headline import speedup
from benchmarks.headline.cpu_quota import CpuQuota, missing
from benchmarks.headline.data_table import CASES
from benchmarks.headline.efficiency import row_of
from benchmarks.headline.speedup import BATCH, FACTOR, RANKS, SEEDS, spec
from benchmarks.launcher import run_ranks


@pytest.mark.ring("all")
def test_a_shuffle_delivers_every_sample_and_counts_the_bytes_that_leave_a_host() -> None:
    # the ranks compare every byte, so a lost or a swapped sample ends them
    task = {"samples": 300, "shortest": 10, "longest": 20, "repeats": 1}
    found = run_ranks("benchmarks.headline.shuffle_rank", [""], 3, task)
    assert found["bookkeeping_s"] < found["seconds"]
    assert found["bytes"] / 9 < found["busiest_bytes"] < found["bytes"] / 3  # two thirds of a third leave


@pytest.mark.ring("all")
def test_a_step_of_the_efficiency_benchmark_contains_its_compute() -> None:
    task = {"bytes": 1 << 12, "compute_s": 0.05, "steps": 2, "ranks_per_host": 2}
    steps_s = run_ranks("benchmarks.headline.efficiency_rank", [""], 2, task)
    assert all(of["weak"] >= 0.05 and of["strong"] >= 0.025 for of in steps_s.values())
    row = row_of(1, 2, steps_s, 0.05)
    assert all(0 < share <= 1 for name in ("weak_efficiency", "strong_efficiency") for share in row[name].values())


@pytest.mark.ring("all")
@pytest.mark.skipif(bool(missing()), reason=missing())
def test_every_case_of_the_data_table_takes_its_steps_and_leaves_no_control_group() -> None:
    task = {"batch": 2, "pixels": 16, "classes": 5, "cases": CASES, "rounds": 1, "steps": 1, "share": 0.9}
    steps_s = run_ranks("benchmarks.headline.data_table_rank", [""], 2, task)
    assert len(steps_s) == len(CASES)
    assert min(steps_s) > 0
    assert not list(CpuQuota("table", 1.0).folder.parent.glob("bigbatch-table-*"))


@pytest.mark.skipif(bool(missing()), reason=missing())
def test_a_quota_limits_this_process_to_its_share_of_a_core() -> None:
    quota = CpuQuota(f"test-{os.getpid()}", 0.25)
    before = Path("/proc/self/cgroup").read_text()
    quota.join()
    try:
        assert quota.folder.name in Path("/proc/self/cgroup").read_text()
    finally:
        quota.leave()
    assert Path("/proc/self/cgroup").read_text() == before
    assert not quota.folder.exists()


def test_the_speedup_runs_differ_in_ranks_batch_and_rate_alone() -> None:
    alone, larger = spec(1, BATCH, SEEDS[0]), spec(RANKS[-1], FACTOR * BATCH, SEEDS[0])
    assert larger.schedule.rate == pytest.approx(FACTOR * alone.schedule.rate)
    own = {"batch", "schedule", "resources"}
    assert alone.model_dump(exclude=own) == larger.model_dump(exclude=own)


def test_the_accuracy_is_that_of_three_seeds_with_its_interval() -> None:
    assert len(set(SEEDS)) == 3
    runs = [{"step_s": 1.0 + seed, "steps": 10, "accuracies": [0.1, 0.9 + seed / 100]} for seed in range(3)]
    row = speedup.row_of(2, BATCH, [run | {"communication_share": 0.5} for run in runs], {"train_s": 30.0})
    assert (row["train_s"], row["speedup"], row["accuracies"]) == (20.0, 1.5, [0.9, 0.91, 0.92])
    assert row["accuracy"]["mean"] == pytest.approx(0.91)
    assert row["accuracy"]["half"] == pytest.approx(4.303 * 0.01 / 3**0.5, rel=1e-3)  # Student's t of two degrees
