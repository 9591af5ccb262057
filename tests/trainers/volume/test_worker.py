"""Workers: whoever carries the tasks out and however often, the outputs are those of one process."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import ndimage

from contract.folder.run_folder import RunFolder
from contract.spec.volume.volume import Volume
from tests.testing.trainers.volumes import SPEC, stored_blobs, write_input
from trainers.volume.__main__ import main
from trainers.volume.stores.find import open_volume
from trainers.volume.task_folder import TaskFolder, Worker
from trainers.volume.work.chunk_task import Tasks
from trainers.volume.work.plan import UnfitVolume, make_plan
from trainers.volume.work.worker import Workbench


def spec_of(**change: Any) -> Volume:
    return Volume.model_validate({**SPEC, **change})


def work(folder: Path, spec: Volume, *, workers: int = 1) -> None:
    """Carry out all tasks in threads."""

    def one(rank: int) -> None:
        plan = make_plan(spec, folder)
        tasks = TaskFolder(plan.work / "tasks", Worker("a", 1, rank, workers), lease_s=60)
        Workbench(plan, tasks).work()

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(one, range(workers)))


def read_all(folder: Path) -> np.ndarray:
    volume = open_volume(folder)
    z, y, x = (slice(0, length) for length in volume.layout.shape)
    return volume.read((z, y, x))


def test_the_components_of_a_volume_are_those_of_its_whole_mask(tmp_path: Path) -> None:
    x_ZYX = write_input(tmp_path / "em")
    work(tmp_path, spec_of())
    whole_ZYX, count = ndimage.label(x_ZYX >= 0.5)
    made_ZYX = read_all(tmp_path / "labels")[0]
    assert count > 5
    assert made_ZYX.max() == count
    pairs = np.unique(np.stack([whole_ZYX.ravel(), made_ZYX.ravel()]), axis=1)
    assert pairs.shape[1] == count + 1
    assert np.array_equal(read_all(tmp_path / "values")[0], x_ZYX), "the identity net returns the volume"


@pytest.mark.ring("all")
def test_three_workers_write_the_bytes_of_one(tmp_path: Path) -> None:
    alone, together = tmp_path / "alone", tmp_path / "together"
    for folder in (alone, together):
        write_input(folder / "em")
    work(alone, spec_of())
    work(together, spec_of(), workers=3)
    assert stored_blobs(alone / "labels") == stored_blobs(together / "labels")
    assert stored_blobs(alone / "values") == stored_blobs(together / "values")


@pytest.mark.ring("all")
def test_a_task_that_is_carried_out_twice_changes_nothing(tmp_path: Path) -> None:
    write_input(tmp_path / "em")
    work(tmp_path, spec_of())
    before = stored_blobs(tmp_path / "labels"), stored_blobs(tmp_path / "values")
    plan = make_plan(spec_of(), tmp_path)
    tasks = Tasks(plan)
    for stage, count in plan.stages.items():
        for index in reversed(range(count)):
            tasks.carry_out(stage, index)
    assert (stored_blobs(tmp_path / "labels"), stored_blobs(tmp_path / "values")) == before


@pytest.mark.ring("all")
def test_zarr_and_raw_have_the_same_values(tmp_path: Path) -> None:
    write_input(tmp_path / "em")
    operators = [{**one, "format": "zarr"} if one["kind"] == "write" else one for one in SPEC["operators"]]
    work(tmp_path, spec_of(operators=operators))
    zarr = read_all(tmp_path / "labels")
    work(
        tmp_path / "raw",
        spec_of(operators=[{**SPEC["operators"][0], "path": str(tmp_path / "em")}, *SPEC["operators"][1:]]),
    )
    assert np.array_equal(zarr, read_all(tmp_path / "raw" / "labels"))


def test_normalized_values_do_not_depend_on_the_chunks(tmp_path: Path) -> None:
    x_ZYX = write_input(tmp_path / "em")
    normalize = {"kind": "normalize", "mean": 0.25, "deviation": 3.0}
    read, infer = SPEC["operators"][0], SPEC["operators"][1]
    for name, chunk in (("a", [8, 8, 8]), ("b", [16, 40, 12])):
        operators = [read, normalize, infer, {"kind": "write", "path": name}]
        work(tmp_path, spec_of(operators=operators, chunk=chunk, block=None, work=f"work-{name}"))
        wanted = (x_ZYX - np.float32(0.25)) / np.float32(3.0)
        assert np.array_equal(read_all(tmp_path / name)[0], wanted)


def test_a_failed_task_is_given_back_and_its_error_is_the_workers(tmp_path: Path) -> None:
    """Fault: a block of the input is missing."""
    write_input(tmp_path / "em", block=(8, 8, 8))
    (tmp_path / "em" / "0" / "0-0.raw").unlink()
    tasks = TaskFolder(tmp_path / "volume" / "tasks", Worker("a"), lease_s=60)
    with pytest.raises(ValueError, match=r"0/0-0\.raw is missing"):
        Workbench(make_plan(spec_of(), tmp_path), tasks).work()
    assert tasks.look("chunks").freed == {(0, 1)}


def test_a_folder_of_work_with_other_tasks_is_refused(tmp_path: Path) -> None:
    write_input(tmp_path / "em")
    make_plan(spec_of(), tmp_path)
    make_plan(spec_of(lease_s=7.0), tmp_path)  # the same tasks
    with pytest.raises(UnfitVolume, match="choose another folder"):
        make_plan(spec_of(chunk=[8, 16, 8]), tmp_path)


def test_a_channel_that_is_not_there_is_named(tmp_path: Path) -> None:
    write_input(tmp_path / "em")
    operators = [{**one, "channel": 1} if one["kind"] == "threshold" else one for one in SPEC["operators"]]
    with pytest.raises(UnfitVolume, match=r"operators\.3\.channel: there are 1 channels"):
        make_plan(spec_of(operators=operators), tmp_path)


def test_the_program_reports_the_states_of_the_chunks_in_the_runs_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_input(tmp_path / "em")
    (tmp_path / "spec.json").write_text(json.dumps({"kind": "program", "command": "true", "volume": SPEC}))
    monkeypatch.setenv("BIGBATCH_RUN_FOLDER", str(tmp_path))
    assert main([]) == 0
    found = RunFolder(tmp_path).read_chunks()
    assert found
    assert found.counts == [3, 5, 3]
    assert found.states == "d" * 45
    assert [(stage.name, stage.done) for stage in found.stages] == [("chunks", 45), ("merge", 1), ("numbers", 45)]
    assert "all 91 tasks are done" in capsys.readouterr().out


def test_a_folder_without_a_volume_ends_the_program_with_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)]) == 1
    assert "is no folder of a run" in capsys.readouterr().err
    (tmp_path / "spec.json").write_text(json.dumps({"kind": "program", "command": "true"}))
    assert main([str(tmp_path)]) == 1
    assert "has no `volume`" in capsys.readouterr().err
