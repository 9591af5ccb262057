"""The checkpoints of a run that goes on, is paused or has failed."""

import os
from pathlib import Path

from fastapi.testclient import TestClient

from contract.folder.run_folder import RunFolder


def add(folder: Path, name: str, at: float, **files: int) -> None:
    (folder / name).mkdir(parents=True)
    for file, size in files.items():
        path = folder / name / file.replace("_", ".")
        path.write_bytes(b"x" * size)
        os.utime(path, (at, at))
    os.utime(folder / name, (at, at))


def test_a_failed_run_has_its_checkpoints_with_step_and_size(client: TestClient, failed_run: RunFolder) -> None:
    checkpoints = failed_run.checkpoints
    assert client.get("/api/v1/runs/1/checkpoints").json()["items"] == []
    add(checkpoints, "step-0000000040-attempt-1", 1000.0, shared_pt=300, manifest_json=20)
    add(checkpoints, "step-0000000080-attempt-2", 2000.0, shared_pt=100)  # its save was interrupted
    add(checkpoints, "damaged-step-0000000060-attempt-1", 1500.0)
    found = client.get("/api/v1/runs/1/checkpoints").json()
    names = ("step", "attempt", "is_complete", "size_bytes", "written_at")
    assert [tuple(one[name] for name in names) for one in found["items"]] == [
        (80, 2, False, 100, "1970-01-01T00:33:20Z"),
        (40, 1, True, 320, "1970-01-01T00:16:40Z"),
    ]
    assert (found["total"], found["folder"]) == (2, str(checkpoints))


def test_what_a_program_saved_is_listed_and_links_are_not(
    client: TestClient, failed_run: RunFolder, tmp_path: Path
) -> None:
    add(failed_run.checkpoints, "epoch-3", 1000.0, model_bin=7)
    (failed_run.checkpoints / "latest.pt").write_bytes(b"12345")
    (tmp_path / "secret").write_text("of another user")
    (failed_run.checkpoints / "link.pt").symlink_to(tmp_path / "secret")
    items = client.get("/api/v1/runs/1/checkpoints").json()["items"]
    assert [(one["name"], one["step"], one["size_bytes"]) for one in items] == [
        ("latest.pt", None, 5),
        ("epoch-3", None, 7),
    ]


def test_a_folder_of_many_files_is_cut(client: TestClient, failed_run: RunFolder) -> None:
    failed_run.checkpoints.mkdir()
    for number in range(30):
        (failed_run.checkpoints / f"{number}.pt").touch()
    found = client.get("/api/v1/runs/1/checkpoints").json()
    assert (len(found["items"]), found["total"]) == (20, 30)
