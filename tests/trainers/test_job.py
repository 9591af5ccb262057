"""A whole job by `python -m trainers FOLDER`: its events, its refusals, and its reproducibility."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from contract.folder.events import Finished, Points, Started
from contract.folder.run_folder import RunFolder
from contract.metric_names import EVERY_EPOCH, EVERY_STEP
from tests.testing.trainers.jobs import HOUSE, events, finish, losses, prepare, start


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Return a finished run on a 2 x 2 torus."""
    folder = prepare(tmp_path_factory.mktemp("done") / "run")
    status, errors = finish(start(folder, "--attempt", "1"))
    assert (status, errors) == (0, "")
    return folder


@pytest.mark.ring("all")
def test_a_run_reports_all_events_in_order(done: RunFolder) -> None:
    started, *points, finished = events(done)
    assert isinstance(started, Started)
    assert (started.world, len(started.hosts), started.steps, started.device) == (4, 4, 10, "cpu")
    assert set(started.versions) == {"python", "torch", "bigbatch"}
    assert isinstance(finished, Finished)
    assert finished.step == 10
    reported = [(event.step, tuple(sorted(event.values))) for event in points if isinstance(event, Points)]
    every_step, every_epoch = tuple(sorted(EVERY_STEP)), tuple(sorted(EVERY_EPOCH))
    expected = [(step, names) for step in range(1, 11) for names in (every_step, every_epoch)]
    assert reported == [(step, names) for step, names in expected if names == every_step or step % 5 == 0]
    assert len(reported) == len(points)
    times = [event.at for event in events(done)]
    assert times == sorted(times)


@pytest.mark.ring("all")
def test_every_part_of_a_step_takes_some_time(done: RunFolder) -> None:
    for event in events(done):
        if isinstance(event, Points) and "loss" in event.values:
            parts = [event.values[name] for name in ("compute_s", "update_s", "communication_s", "input_s", "idle_s")]
            assert all(part is not None and part >= 0 for part in parts)
            assert sum(part or 0 for part in parts) == pytest.approx(256 / (event.values["samples_per_s"] or 0))
            assert event.values["slowest_rank"] in range(4)


@pytest.mark.ring("all")
def test_learning_rates_and_epochs_follow_the_schedule(done: RunFolder) -> None:
    points = [event for event in events(done) if isinstance(event, Points)]
    rates = [event.values["learning_rate"] for event in points if "learning_rate" in event.values]
    warm, decayed = [7 * t / 5 for t in range(5)], [7 * (1 - t / 10) ** 2 for t in range(5, 10)]
    assert rates == pytest.approx([*warm, *decayed])
    assert [event.values["epoch"] for event in points if "epoch" in event.values] == [1, 2]
    accuracies = [event.values["heldout_accuracy"] or 0 for event in points if "heldout_accuracy" in event.values]
    # a multiple of 1 / 360
    assert [round(accuracy * 360) / 360 for accuracy in accuracies] == pytest.approx(accuracies, abs=1e-12)


@pytest.mark.ring("all")
def test_a_repeated_run_has_bit_identical_losses(done: RunFolder, tmp_path: Path) -> None:
    again = prepare(tmp_path / "run")
    assert finish(start(again))[0] == 0
    assert losses(again) == losses(done)


def test_a_second_start_of_an_attempt_is_refused(done: RunFolder) -> None:
    before = done.events.read_bytes()
    status, errors = finish(start(done, "--attempt", "1"))
    assert status == 3
    assert f"belongs to job {done.read_claim(1)}" in errors
    assert errors.count("\n") == 1
    assert done.events.read_bytes() == before


def test_an_outdated_attempt_is_refused(tmp_path: Path) -> None:
    folder = prepare(tmp_path / "run")
    folder.claim(2, "another")
    status, errors = finish(start(folder, "--attempt", "1"))
    assert status == 3
    assert "job another has begun 2" in errors
    assert events(folder) == []


@pytest.mark.ring("all")
def test_a_start_by_hand_claims_the_next_attempt(tmp_path: Path) -> None:
    folder = prepare(tmp_path / "run", epochs=1, schedule={"kind": "constant", "rate": 1.0}, batch=1024)
    folder.claim(3, "another")
    assert finish(start(folder))[0] == 0
    assert {event.attempt for event in events(folder)} == {4}


@pytest.mark.ring("all")
def test_a_job_waits_for_a_spec_that_appears_late(tmp_path: Path) -> None:
    """Forces a spec that becomes visible a second after the start of the job."""
    folder = prepare(tmp_path / "run", epochs=1, schedule={"kind": "constant", "rate": 1.0}, batch=1024)
    spec = folder.path / "spec.json"
    hidden = spec.rename(tmp_path / "hidden")
    job = start(folder, "--attempt", "1")
    time.sleep(1)
    hidden.rename(spec)
    assert finish(job)[0] == 0


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (None, "no spec can be read in"),
        ("{", "cannot be carried out"),
        ('{"optimizer": {"kind": "adamax"}}', "optimizer"),
    ],
)
def test_a_folder_without_a_valid_spec_gives_one_line_and_status_2(
    spec: str | None, message: str, tmp_path: Path
) -> None:
    if spec is not None:
        (tmp_path / "spec.json").write_text(spec)
    status, errors = finish(start(RunFolder(tmp_path)))
    assert status == 2
    assert message in errors
    assert errors.count("\n") == 1


@pytest.mark.ring("all")
def test_the_parent_of_local_ranks_does_not_load_torch() -> None:
    code = "import sys, trainers.job, trainers.__main__; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=HOUSE, check=False).returncode == 0


@pytest.mark.ring("all")
def test_each_line_of_a_local_run_s_output_has_its_rank(tmp_path: Path) -> None:
    """A net that does not exist: all four ranks print their traceback."""
    absent = {"kind": "import", "function": "tests.absent_module:net", "options": {}}
    folder = prepare(tmp_path / "run", model=absent)
    status, errors = finish(start(folder))
    assert status == 1
    assert {line[:3] for line in errors.splitlines()} == {f"{rank}: " for rank in range(4)}
    for rank in range(4):
        assert f"{rank}: ModuleNotFoundError: No module named 'tests.absent_module'" in errors.splitlines()
