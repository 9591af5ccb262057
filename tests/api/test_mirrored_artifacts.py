"""Artifacts with copies in an object store: what the list says of them, and downloads whose files are there alone."""

import io
import tarfile
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from contract.folder.files.whole_folder import remove_below
from contract.folder.outputs.content import hash_content
from contract.folder.outputs.record import RecordedArtifact
from contract.lifecycle.reuse import Reuse
from scheduler.context import Context
from scheduler.ticks.mirror import mirror
from scheduler.ticks.reuse import check_waiting_runs
from store.artifacts.artifacts import insert_artifacts
from store.mirror.copies import MAX_FAULTS
from store.session import transaction
from store.tables.runs import Run
from tests.testing.clusters import Puppet
from tests.testing.finished_runs import create, folder_of
from tests.testing.mirror import MODEL, done, let_time_pass, place_of
from tests.testing.object_store import FaultyStore
from tests.testing.specs import small_experiment

LARGE = bytes(range(256)) * 10_000  # more than two blocks of the store


class Site:
    """The API and a worker with one object store."""

    def __init__(self, client: TestClient, engine: Engine, runs_folder: Path) -> None:
        self.client, self.store = client, FaultyStore(f"memory://{runs_folder.parent.name}")
        self.worker = Context(engine, {"local": Puppet()}, runs_folder, 1000, object_store=self.store)
        self.state.object_store = self.store

    @property
    def state(self) -> Any:
        assert isinstance(self.client.app, FastAPI)
        return self.client.app.state

    def get(self, path: str, **headers: str) -> Any:
        return self.client.get(f"/api/v1/runs/{path}", headers=headers)

    def listed(self, run_id: int) -> dict[str, Any]:
        answer = self.get(f"{run_id}/artifacts")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def add(self, run_id: int, name: str, path: str) -> None:
        """Let a run have a further artifact with what is at a path in its folder."""
        content = hash_content(folder_of(self.worker, run_id), path)
        with transaction(self.worker.engine) as db:
            insert_artifacts(db, run_id, 1, [RecordedArtifact(name=name, path=path, **content._asdict())])


@pytest.fixture
def site(client: TestClient, sqlite_engine: Engine, tmp_path: Path) -> Site:
    return Site(client, sqlite_engine, tmp_path / "runs")


@pytest.fixture
def run_id(site: Site) -> int:
    """Return a run with an artifact that is in the object store alone."""
    run_id = done(site.worker)
    mirror(site.worker)
    (folder_of(site.worker, run_id) / "model.pt").unlink()
    return run_id


def test_the_list_says_how_far_the_copy_is(site: Site) -> None:
    run_id = done(site.worker)
    before = site.listed(run_id)
    assert before["object_store"] == {"url": site.store.url, "works": True, "sentence": None}
    assert before["items"][0]["mirror"] == {
        "state": "waiting",
        "store": None,
        "copied_at": None,
        "sentence": f"it waits for its copy in {site.store.url}",
    }
    mirror(site.worker)
    copy = site.listed(run_id)["items"][0]["mirror"]
    assert (copy["state"], copy["store"]) == ("mirrored", site.store.url)
    assert copy["copied_at"]
    assert copy["sentence"].endswith("and read back: the hashes are equal")


def test_while_the_store_is_down_the_list_says_so_and_the_run_is_done(site: Site) -> None:
    """Forces the fault: the artifact store is down."""
    run_id = done(site.worker)
    site.store.is_down = True
    mirror(site.worker)
    found = site.listed(run_id)
    assert found["object_store"]["works"] is False
    assert "does not work since 20" in found["object_store"]["sentence"]
    assert "(connection refused); 1 try, the next one at 20" in found["object_store"]["sentence"]
    assert found["items"][0]["mirror"]["sentence"] == f"it waits for its copy: {found['object_store']['sentence']}"
    assert site.get(str(run_id)).json()["state"] == "done"
    assert site.get(f"{run_id}/artifacts/model").content == b"weights"


def test_a_copy_that_was_given_up_says_why(site: Site) -> None:
    run_id = done(site.worker)
    (folder_of(site.worker, run_id) / "model.pt").write_text("Weights")
    for _ in range(MAX_FAULTS):
        mirror(site.worker)
        let_time_pass(site.worker.engine)
    copy = site.listed(run_id)["items"][0]["mirror"]
    assert copy["state"] == "faulty"
    assert "changed since the end of the run" in copy["sentence"]


@pytest.mark.ring("all")
def test_without_an_object_store_the_list_has_no_copies(site: Site) -> None:
    run_id = done(site.worker)
    site.state.object_store = None
    found = site.listed(run_id)
    assert (found["object_store"], found["items"][0]["mirror"]) == (None, None)


def test_a_file_that_is_gone_is_sent_from_the_store(site: Site, run_id: int) -> None:
    answer = site.get(f"{run_id}/artifacts/model")
    assert (answer.status_code, answer.content) == (200, b"weights")
    assert answer.headers["content-length"] == "7"
    assert answer.headers["content-disposition"].startswith(f'attachment; filename="run-{run_id}-model.pt"')
    whole = site.get(f"{run_id}/artifacts/model", range="bytes=0-2")
    assert (whole.status_code, whole.content) == (200, b"weights"), "a part's hash cannot be compared"
    head = site.client.head(f"/api/v1/runs/{run_id}/artifacts/model")
    assert (head.status_code, head.headers["content-length"], head.content) == (200, "7", b"")


def test_a_file_with_another_size_is_sent_from_the_store(site: Site, run_id: int) -> None:
    (folder_of(site.worker, run_id) / "model.pt").write_text("other weights")
    assert site.get(f"{run_id}/artifacts/model").content == b"weights"


def test_a_folder_that_is_gone_is_an_archive_from_the_store(site: Site) -> None:
    run_id = done(site.worker)
    folder = folder_of(site.worker, run_id)
    (folder / "samples/inner").mkdir(parents=True)
    (folder / "samples/inner/large").write_bytes(LARGE)
    (folder / "samples/empty").write_bytes(b"")
    (folder / "samples/link").symlink_to("empty")
    (folder / "samples/far").symlink_to("/etc/passwd")
    site.add(run_id, "samples", "samples")
    mirror(site.worker)
    before = site.get(f"{run_id}/artifacts/samples").content
    remove_below(folder, "samples")
    after = site.get(f"{run_id}/artifacts/samples")
    assert after.headers["content-type"] == "application/x-tar"
    assert unpacked(after.content) == unpacked(before)
    assert unpacked(after.content)["samples/inner/large"] == LARGE
    assert unpacked(after.content)["samples/link"] == "empty"
    assert "samples/far" not in unpacked(after.content)


def unpacked(content: bytes) -> dict[str, bytes | str]:
    """Return the files of an archive, and the targets of its links."""
    found: dict[str, bytes | str] = {}
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive.getmembers():
            file = None if member.issym() else archive.extractfile(member)
            found[member.name] = member.linkname if file is None else file.read()
    return found


def test_while_the_store_is_down_a_download_from_it_says_so(site: Site, run_id: int) -> None:
    """Forces the fault: the artifact store is down, and has the file alone."""
    site.store.is_down = True
    answer = site.get(f"{run_id}/artifacts/model")
    assert (answer.status_code, answer.json()["code"]) == (503, "artifact_store_unavailable")
    only = f"the files of the artifact 'model' are in {site.store.url} alone"
    assert answer.json()["detail"] == f"{only}, which does not work now: connection refused"


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("corrupt", ["model.pt", "manifest.json"])
def test_other_bytes_in_the_store_are_refused(site: Site, run_id: int, corrupt: str) -> None:
    """Forces the fault: the store returns the file, or the list of files, with one bit changed."""
    site.store.corrupt = corrupt
    answer = site.get(f"{run_id}/artifacts/model")
    assert (answer.status_code, answer.json()["code"]) == (409, "unreadable_file")
    assert "other bytes" in answer.json()["detail"]


def test_other_bytes_in_a_large_file_break_the_answer_before_its_end(site: Site) -> None:
    """Forces the fault: the change shows when most of the file is sent; the client does not get all of it."""
    run_id = done(site.worker)
    (folder_of(site.worker, run_id) / "large").write_bytes(LARGE)
    site.add(run_id, "large", "large")
    mirror(site.worker)
    (folder_of(site.worker, run_id) / "large").unlink()
    assert site.get(f"{run_id}/artifacts/large").content == LARGE
    site.store.corrupt = "files/large"
    try:
        sent = len(site.get(f"{run_id}/artifacts/large").content)
    except Exception:  # the connection ended
        sent = 0
    assert sent < len(LARGE)


def test_objects_that_were_deleted_are_an_outage_and_no_empty_file(site: Site, run_id: int) -> None:
    site.store.remove(place_of(site.worker, run_id))
    answer = site.get(f"{run_id}/artifacts/model")
    assert answer.status_code == 503
    assert "not there" in answer.json()["detail"]


def test_a_store_that_the_settings_do_not_name_is_not_asked(site: Site, run_id: int) -> None:
    for other in (None, FaultyStore("memory://another")):
        site.state.object_store = other
        answer = site.get(f"{run_id}/artifacts/model")
        assert answer.status_code == 404
        assert "which the service's settings do not name" in answer.json()["detail"]
        assert "do not name now" in site.listed(run_id)["items"][0]["mirror"]["sentence"]


@pytest.mark.ring("all")
def test_a_run_that_took_a_result_has_its_copies(site: Site, run_id: int) -> None:
    (taker,) = create(site.worker, small_experiment(outputs=MODEL, reuse=True))
    check_waiting_runs(site.worker)
    with transaction(site.worker.engine) as db:
        assert db.get_one(Run, taker).reuse is Reuse.CHECKED
        assert db.get_one(Run, taker).taken_from == run_id
    (folder_of(site.worker, run_id) / "model.pt").unlink()  # which the service has restored
    assert site.get(f"{taker}/artifacts/model").content == b"weights"
    assert site.listed(taker)["items"][0]["mirror"]["state"] == "mirrored"
