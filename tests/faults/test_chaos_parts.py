"""The faults of chaos do what their names say, and its audit counts none of what they write."""

import random
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from contract.folder.events import Finished, Points
from contract.folder.run_folder import RunFolder
from lab.fake_slurm.commands import main as slurm_command
from lab.fake_slurm.state import ClusterState, Settings
from scheduler.clusters.cluster import SubmitLimitError
from scheduler.clusters.slurm.commands import CommandResult
from scheduler.clusters.slurm.sbatch_errors import classify_sbatch_error
from scheduler.events.tail import read_tail
from tests.testing.faults.audit import events, steps_written
from tests.testing.faults.field import WORKERS, Field
from tests.testing.faults.hostile_mishaps import disk_full, invalid_lines, tick_hung
from tests.testing.service import Service, running
from tests.testing.small_disk import small_disk


def field_of(service: Any) -> Field:
    """A field whose lab and servers are struck by nothing here."""
    nothing = cast(Any, None)
    return Field(cast(Service, service), nothing, nothing, nothing, random.Random(1))


def test_invalid_lines_are_no_events_for_the_service_and_for_the_audit(tmp_path: Path) -> None:
    folder, point = RunFolder(tmp_path), Points(attempt=1, at=1.0, step=1, values={"loss": 1.0})
    folder.events.write_text(point.model_dump_json() + "\n")
    run = {"id": 1, "folder": str(tmp_path)}
    service = SimpleNamespace(get=lambda path, **_: {"items": [run]} if path == "/runs" else run)
    assert invalid_lines(field_of(service))
    with folder.events.open("a") as file:
        file.write(Finished(attempt=1, at=2.0, step=1).model_dump_json() + "\n")
    assert [event.kind for event in read_tail(folder, 0).events] == ["points", "finished"]
    reported = events(tmp_path)
    assert ([line["kind"] for line in reported], steps_written(reported)) == (["points", "finished"], [1])


def test_hostile_runs_are_never_struck_as_healthy_ones(tmp_path: Path) -> None:
    service = SimpleNamespace(get=lambda *_, **__: {"items": [{"id": 7}]})
    field = field_of(service)
    field.hostile[7] = "an attack"
    assert field.running() is None


@pytest.mark.ring("all")
def test_a_full_disk_has_room_again(tmp_path: Path) -> None:
    with small_disk(tmp_path / "runs", 4) as disk:
        field = field_of(SimpleNamespace(environment={"BIGBATCH_RUNS": str(disk)}))
        assert disk_full(field)
        (disk / "room").write_bytes(b"x" * (1 << 20))
        assert [path.name for path in disk.iterdir()] == ["room"]


def test_a_refusal_by_the_submit_limit_is_read_as_slurms_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = ClusterState.create(tmp_path / "slurm", Settings())
    cluster.set_fault("sbatch", "limit", times=1)
    assert slurm_command("sbatch", str(cluster.folder), ["nothing.sh"]) == 1
    error = classify_sbatch_error(CommandResult(1, "", capsys.readouterr().err))
    assert isinstance(error, SubmitLimitError)


@pytest.fixture
def field(tmp_path: Path) -> Iterator[Field]:
    """A service with the two workers of chaos."""
    with running(tmp_path / "home", {"BIGBATCH_SLURM": "false"}) as service:
        service.kill("worker")
        field = field_of(service)
        for name in WORKERS:
            field.start_worker(name)
        yield field


@pytest.mark.flow
@pytest.mark.long
def test_a_tick_that_hangs_ends_its_worker_and_another_one_begins(field: Field) -> None:
    """Forces the fault: a tick of one of two workers sleeps for an hour."""
    before = {field.service.processes[name].pid for name in WORKERS}
    assert tick_hung(field)
    assert field.wrong == []
    after = {field.service.processes[name].pid for name in WORKERS}
    assert len(before & after) == 1
    assert "has made no progress" in (field.home / "worker.log").read_text()
