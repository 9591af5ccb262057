"""The files that a program wrote, and the jobs that it submitted itself."""

import os
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from agent.program.work_folder import COPIED, COPIED_AT_NS
from contract.folder.run_folder import RunFolder

pytestmark = pytest.mark.ring("gate")
FILES = "/api/v1/runs/1/files"


def write(folder: RunFolder, path: str, text: str, at: float) -> None:
    file = folder.path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    os.utime(file, (at, at))


def test_what_the_program_wrote_is_listed_newest_first_and_downloaded(
    client: TestClient, failed_run: RunFolder
) -> None:
    write(failed_run, "work/outputs/2026-11-29/ckpt.pt", "weights", 2000.0)
    write(failed_run, "table.csv", "a,b", 1000.0)
    write(failed_run, "work/__pycache__/x.pyc", "cache", 3000.0)
    write(failed_run, "attempts/1.rendezvous", "secret", 3000.0)
    for path in ("work/train.py", "work/backup/train.py"):  # a copy of the code, and the program's copy of that
        write(failed_run, path, "print()", 1.0)
        os.utime(failed_run.path / path, ns=(COPIED_AT_NS, COPIED_AT_NS))
    write(failed_run, COPIED, "train.py\nconfig.yaml\n", 1.0)
    found = client.get(FILES).json()
    assert [(one["path"], one["size_bytes"], one["written_at"]) for one in found["items"]] == [
        ("work/backup/train.py", 7, "1980-01-02T00:00:00Z"),
        ("work/outputs/2026-11-29/ckpt.pt", 7, "1970-01-01T00:33:20Z"),
        ("table.csv", 3, "1970-01-01T00:16:40Z"),
    ]
    assert (found["total"], found["size_bytes"], found["is_cut"]) == (3, 17, False)
    answer = client.get(f"{FILES}/work/outputs/2026-11-29/ckpt.pt", headers={"Range": "bytes=2-"})
    assert (answer.status_code, answer.text) == (206, "ights")
    assert "run-1-ckpt.pt" in answer.headers["content-disposition"]


def test_a_copy_that_the_program_changed_is_its_own_file(client: TestClient, failed_run: RunFolder) -> None:
    write(failed_run, "work/config.yaml", "lr: 2", 1500.0)
    assert [one["path"] for one in client.get(FILES).json()["items"]] == ["work/config.yaml"]


@pytest.mark.parametrize(
    "path", ["attempts/1.rendezvous", "spec.json", "absent", "a/../spec.json", ".work.ab/x", "a//b"]
)
def test_files_of_the_service_and_absent_ones_cannot_be_downloaded(
    client: TestClient, failed_run: RunFolder, path: str
) -> None:
    write(failed_run, "attempts/1.rendezvous", "secret", 3000.0)
    assert client.get(f"{FILES}/{path.replace('..', '%2e%2e')}").status_code == 404


def test_a_link_is_neither_listed_nor_followed(client: TestClient, failed_run: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("of another user")
    (failed_run.path / "link").symlink_to(tmp_path / "secret")
    (failed_run.path / "folder").symlink_to(tmp_path)
    os.mkfifo(failed_run.path / "fifo")
    assert client.get(FILES).json()["items"] == []
    for path in ("link", "folder/secret", "fifo"):
        answer = client.get(f"{FILES}/{path}")
        assert answer.status_code >= 400
        assert "another user" not in answer.text


def test_jobs_that_the_program_submitted_are_listed(client: TestClient, failed_run: RunFolder) -> None:
    write(failed_run, "attempts/1.jobs", "77 1000\nrubbish\n78 1001\n", 1.0)
    write(failed_run, "attempts/2.jobs", "79 2000\n", 1.0)
    assert [job["id"] for job in client.get(FILES).json()["jobs"]] == [79, 78, 77]


def test_a_run_without_a_folder_has_no_file(client: TestClient, failed_run: RunFolder) -> None:
    failed_run.path.rename(failed_run.path.with_name("elsewhere"))
    assert client.get(FILES).json()["items"] == []


def test_only_the_newest_of_many_files_are_listed(
    client: TestClient, failed_run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        write(failed_run, f"work/{number}", "x", 1000.0 + number)
    monkeypatch.setattr("api.artifacts.files.MOST", 2)
    found = client.get(FILES).json()
    assert ([one["path"] for one in found["items"]], found["total"]) == (["work/4", "work/3"], 5)
    monkeypatch.setattr("contract.folder.written_files.MOST_SEEN", 3)
    assert client.get(FILES).json()["is_cut"]
