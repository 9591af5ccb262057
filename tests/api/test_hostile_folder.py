"""A job may leave links, FIFOs and huge files in its folder: every endpoint answers, and shows no other file."""

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from contract.folder.rank_failure import RankFailure
from contract.folder.run_folder import RunFolder
from tests.testing.hostile_files import HUGE, HUGE_BYTES, IRREGULAR, PLANTS, SECRET, bounded_memory, plant
from tests.testing.needs import require
from tests.testing.other_user import NOBODY
from tests.testing.snapshots import post_tree

pytestmark = pytest.mark.timeout(60)  # a FIFO would block its reader for good
RUN = "/api/v1/runs/1"
PATHS = [
    RUN,
    f"{RUN}/log",
    f"{RUN}/log?offset=-100",
    f"{RUN}/ranks",
    f"{RUN}/stacks",
    f"{RUN}/chunks",
    "/api/v1/experiments/1/failures",
]
FILES = [
    "out.log",
    "times.csv",
    "collective.json",
    "binding.json",
    "chunks.json",
    "lost.jsonl",
    "attempts/1.ranks",
    "attempts/1.log",
    "attempts/2.log",
    "attempts/1.rank-0.json",
    "attempts/1.stacks-0.txt",
]


@pytest.fixture
def folder(failed_run: RunFolder) -> RunFolder:
    """The folder of a failed run, with a failure of rank 1."""
    failure = RankFailure(at=1.0, rank=1, host="h", reason="rank 1 on h: ValueError: no")
    failed_run.write_rank_failure(1, failure)
    return failed_run


@pytest.fixture(autouse=True)
def little_memory() -> Iterator[None]:
    with bounded_memory():
        yield


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("name", FILES)
def test_every_endpoint_answers_and_shows_no_other_file(client: TestClient, folder: RunFolder, name: str) -> None:
    """Forces a hostile job: it replaces one of its files by a link, a FIFO, a folder or gigabytes."""
    for kind in PLANTS:
        plant(folder.path / name, kind)
        for path in PATHS:
            answer = client.get(path)
            assert answer.status_code in (200, 409), (kind, path, answer.text)
            assert not any(word in answer.text for word in (SECRET, "root:", "PATH=")), (kind, path)
        failure = client.get(RUN).json()["failure"]
        assert [fall["rank"] for fall in failure["falls"]] == [1], kind


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(("name", "path"), [("out.log", f"{RUN}/log"), ("times.csv", f"{RUN}/ranks")])
def test_a_file_that_is_not_regular_is_refused_by_its_name(
    client: TestClient, folder: RunFolder, name: str, path: str
) -> None:
    """Forces a hostile job: it replaces its log or its table of step times."""
    for kind in IRREGULAR:
        plant(folder.path / name, kind)
        answer = client.get(path)
        assert (answer.status_code, answer.json()["code"]) == (409, "unreadable_file"), kind
        assert f"{name} cannot be read: a " in answer.json()["detail"]


def test_fifty_requests_for_a_fifo_leave_the_service_able_to_answer(client: TestClient, folder: RunFolder) -> None:
    """Forces more requests for a FIFO than the service has threads."""
    plant(folder.log, "FIFO")
    assert {client.get(f"{RUN}/log").status_code for _ in range(50)} == {409}
    assert client.get(RUN).status_code == 200


def test_a_part_of_a_log_of_gigabytes_is_read(client: TestClient, folder: RunFolder) -> None:
    plant(folder.log, HUGE)
    with folder.log.open("ab") as file:
        file.write(b"the end\n")
    answer = client.get(f"{RUN}/log?offset=-8").json()
    expected = {"text": "the end\n", "offset": HUGE_BYTES, "next": HUGE_BYTES + 8, "size": HUGE_BYTES + 8}
    assert {name: answer[name] for name in expected} == expected


def test_a_linked_folder_of_attempts_is_not_read(client: TestClient, folder: RunFolder, tmp_path: Path) -> None:
    """Forces a hostile job: its folder `attempts` is a link to a folder with another run's failure."""
    elsewhere, attempts = RunFolder(tmp_path / "elsewhere"), folder.path / "attempts"
    (elsewhere.path / "attempts").mkdir(parents=True)
    elsewhere.write_rank_failure(1, RankFailure(at=1.0, rank=1, host="h", reason=SECRET))
    attempts.rename(folder.path / "own")
    attempts.symlink_to(elsewhere.path / "attempts")
    for path in PATHS:
        answer = client.get(path)
        assert (answer.status_code, SECRET in answer.text) == (200, False)


REPLACED: Mapping[str, Callable[[Path], object]] = {
    "FIFO": os.mkfifo,
    "file": lambda path: path.write_text("no folder"),
    "link to itself": lambda path: path.symlink_to(path.name),
    "dangling link": lambda path: path.symlink_to("nowhere"),
    "link to a file": lambda path: path.symlink_to("/etc/passwd"),
}
OF_FOLDER = [f"{RUN}/{name}" for name in ("files", "checkpoints", "environment", "size", "artifacts", "files/work/a")]


@pytest.mark.parametrize("kind", REPLACED)
def test_a_run_whose_folder_is_replaced_is_shown_with_what_the_service_knows(
    client: TestClient, folder: RunFolder, kind: str
) -> None:
    """Forces a hostile job: it replaces its whole folder by something else; `GET /runs/1` was 503 for good."""
    folder.path.rename(folder.path.with_name("moved"))
    REPLACED[kind](folder.path)
    for path in [*PATHS, *OF_FOLDER]:
        answer = client.get(path)
        assert answer.status_code in (200, 404, 409), (path, answer.text)
        assert "root:" not in answer.text
    run = client.get(RUN).json()
    assert (run["state"], run["failure"]["attempt"]) == ("failed", 1)
    if kind != "dangling link":  # the folder is absent, as before the first submission
        assert str(folder.path) in run["unread"]["sentence"]
        assert "cannot be read" in run["unread"]["sentence"]
        assert client.get(f"{RUN}/size").json()["is_complete"] is False


@pytest.mark.parametrize("code", [errno.EACCES, errno.ESTALE, errno.EIO])
def test_the_page_of_a_run_says_what_cannot_be_read(
    client: TestClient, folder: RunFolder, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """Forces the fault: each open in the run's folder is refused, as in one of mode 000, or the file server fails."""

    def refuse(path: object, *_: object, **__: object) -> int:
        raise OSError(code, os.strerror(code), str(path))

    with monkeypatch.context() as patch:
        patch.setattr("contract.folder.files.untrusted_file.os.open", refuse)
        run, failures = client.get(RUN), client.get("/api/v1/experiments/1/failures")
    assert (run.status_code, failures.status_code) == (200, 200)
    assert os.strerror(code) in run.json()["unread"]["sentence"]
    assert run.json()["failure"]["attempt"] == failures.json()["items"][0]["failure"]["attempt"] == 1
    assert client.get(RUN).json()["unread"] is None


def test_a_folder_below_a_linked_base_is_read(client: TestClient, folder: RunFolder, tmp_path: Path) -> None:
    """Forces a site whose folder of runs is a link to another disk."""
    (tmp_path / "runs").rename(tmp_path / "disk")
    (tmp_path / "runs").symlink_to(tmp_path / "disk")
    assert client.get(f"{RUN}/log").json()["text"] == "epoch 1\n"
    assert client.get(RUN).json()["failure"]["falls"][0]["rank"] == 1


def test_a_file_server_that_fails_is_named_and_no_internal_error(
    client: TestClient, folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the file server answers an open with an error."""

    def fail(*_: object) -> None:
        raise OSError(116, "Stale file handle")

    monkeypatch.setattr("contract.folder.files.untrusted_file._open", fail)
    answer = client.get(f"{RUN}/log")
    assert (answer.status_code, answer.json()["code"]) == (503, "folder_unavailable")
    assert answer.json()["detail"] == "a file cannot be read: Stale file handle"


@pytest.mark.parametrize("path", [f"{RUN}/log", f"{RUN}/files", f"{RUN}/stacks", f"{RUN}/checkpoints"])
def test_a_folder_that_the_run_has_closed_is_named_and_is_no_outage(
    client: TestClient, folder: RunFolder, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """Forces a hostile job: it has closed its folder (chmod 000), which told of a file server that is away."""

    def refuse(path: object, *_: object, **__: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr("contract.folder.files.untrusted_file.os.open", refuse)
    answer = client.get(path)
    assert (answer.status_code, answer.json()["code"]) == (409, "unreadable_file")
    assert answer.json()["detail"].endswith("cannot be read: the run has closed it (permission denied)")


def refuse_reads_below(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Force the fault: files below the folder cannot be opened by the account of the service."""
    real = os.open

    def refuse(path: object, *words: object, **named: object) -> int:
        if str(path).startswith(str(folder)):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, *words, **named)  # type: ignore[arg-type]

    patch.setattr("contract.folder.files.untrusted_file.os.open", refuse)


def test_a_run_of_another_account_says_who_may_not_read_it_and_what_to_set(
    client: TestClient, folder: RunFolder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Forces the fault: API and worker have two accounts, and the worker's runs are private, as by default."""
    require([] if os.geteuid() == 0 else ["needs root to give a folder away"])
    os.chown(folder.log, NOBODY, NOBODY)  # root sees it even in a folder of theirs
    folder.log.chmod(0o600)
    with monkeypatch.context() as patch:
        refuse_reads_below(folder.path, patch)
        answer = client.get(f"{RUN}/log")
    assert (answer.status_code, answer.json()["code"]) == (409, "unreadable_file")
    told = answer.json()["detail"]
    assert f"{folder.log} belongs to the user nobody, has the mode 0600, and the API runs as the user root" in told
    assert "BIGBATCH_RUN_FOLDERS=group" in told
    assert "the run has closed it" not in told
    assert "belongs to the user nobody" in caplog.text


def test_a_file_of_the_service_that_it_may_not_read_is_no_fault_of_a_run_and_is_logged(
    client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Forces the fault: the store of snapshots, in the folder of the runs, is closed to the service's account."""
    name = post_tree(client, {"train.py": b"1\n"})
    with monkeypatch.context() as patch:
        refuse_reads_below(tmp_path / "runs" / ".snapshots", patch)
        answer = client.get(f"/api/v1/snapshots/{name}/file", params={"path": "train.py"})
    assert (answer.status_code, answer.json()["code"]) == (503, "folder_unavailable")
    assert answer.json()["detail"] == "a file cannot be read: Permission denied"
    assert "a file cannot be read" in caplog.text
