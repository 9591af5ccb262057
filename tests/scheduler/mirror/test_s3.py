"""Copies on a real S3-compatible server: parts of large files, outages, a restart without its objects, credentials."""

import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from contract.lifecycle.artifact import CopyState
from scheduler.artifacts import copying
from scheduler.context import Context
from scheduler.ticks.mirror import mirror
from store.mirror import outages
from store.mirror.manifest import WrongBytesError, read_file, read_manifest
from store.mirror.object_store import ObjectStore, StoreError
from store.session import snapshot
from store.tables.base import now
from tests.testing.finished_runs import create, finish
from tests.testing.mirror import done, let_time_pass, read_copy
from tests.testing.object_store import BUCKET, KEY, SECRET, S3Server
from tests.testing.specs import small_experiment

BOTH = {"model": "model.pt", "notes": "notes.txt"}
PART_BYTES = 5 << 20  # the least of S3, except for the last part


@pytest.mark.ring("all")
def test_a_copy_on_s3_is_what_amazons_own_client_reads(on_s3: Context, s3: S3Server) -> None:
    run_id = done(on_s3)
    mirror(on_s3)
    copy = read_copy(on_s3.engine, run_id)
    assert copy is not None
    assert copy.state is CopyState.MIRRORED, copy.problem
    found = s3.objects()
    assert found[f"of the team/{copy.place}/files/model.pt"] == b"weights"
    assert {name.rpartition("/")[2] for name in found} == {"model.pt", "manifest.json"}


@pytest.mark.ring("all")
def test_a_file_of_several_parts_is_the_same_file(s3: S3Server) -> None:
    options = {**s3.options, "default_block_size": PART_BYTES}
    store, content = ObjectStore(f"s3://{BUCKET}", options), bytes(range(256)) * (50 << 10)
    store.write("large", (content[start : start + 1_000_000] for start in range(0, len(content), 1_000_000)))
    assert s3.objects()["large"] == content
    assert s3.client().head_object(Bucket=BUCKET, Key="large")["ETag"].endswith('-3"')
    assert b"".join(store.read("large")) == content


@pytest.mark.ring("all")
def test_an_upload_that_is_given_up_leaves_no_object_and_no_parts(s3: S3Server) -> None:
    """Forces the fault: the source fails after the first part of a large file."""
    store = ObjectStore(f"s3://{BUCKET}", {**s3.options, "default_block_size": PART_BYTES})

    def blocks() -> Any:
        for _ in range(12):
            yield b"x" * 1_000_000
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        store.write("large", blocks())
    assert s3.objects() == {}
    assert s3.client().list_multipart_uploads(Bucket=BUCKET).get("Uploads", []) == []


@pytest.mark.ring("all")
def test_a_server_that_is_down_and_back_again_gets_the_copies(on_s3: Context, s3: S3Server) -> None:
    """Forces the fault: the server is killed before the first copy, and starts again."""
    run_id = done(on_s3)
    s3.kill()
    mirror(on_s3)
    with snapshot(on_s3.engine) as db:
        outage = outages.find(db, f"s3://{BUCKET}/of the team")
    assert outage is not None
    assert str(s3.port) in outage.problem
    copy = read_copy(on_s3.engine, run_id)
    assert copy is not None
    assert (copy.state, copy.copied_at) == (CopyState.WAITING, None)
    s3.start()
    let_time_pass(on_s3.engine)
    mirror(on_s3)
    copy = read_copy(on_s3.engine, run_id)
    assert copy is not None
    assert (copy.state, copy.problem) == (CopyState.MIRRORED, None)
    with snapshot(on_s3.engine) as db:
        assert outages.find(db, f"s3://{BUCKET}/of the team") is None


@pytest.mark.ring("all")
def test_a_server_that_is_killed_in_the_middle_of_a_copy_gets_all_of_it_later(
    on_s3: Context, s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the server dies after the file and before the list of files, and comes back empty."""
    run_id = done(on_s3)

    def kill_first(*_: object) -> str:
        assert len(s3.objects()) == 1
        s3.kill()
        raise StoreError(_error_of(on_s3.object_store))

    with monkeypatch.context() as patch:
        patch.setattr(copying, "write_manifest", kill_first)
        mirror(on_s3)
    copy = read_copy(on_s3.engine, run_id)
    assert copy is not None
    assert (copy.state, copy.copied_at) == (CopyState.WAITING, None)
    s3.start()
    assert s3.objects() == {}
    let_time_pass(on_s3.engine)
    mirror(on_s3)
    copy = read_copy(on_s3.engine, run_id)
    assert copy is not None
    assert copy.state is CopyState.MIRRORED
    assert len(s3.objects()) == 2


def _error_of(store: ObjectStore | None) -> str:
    assert store is not None
    with pytest.raises(StoreError) as caught:
        store.write("x", [b"x"])
    return str(caught.value)


@pytest.mark.ring("all")
def test_bytes_that_change_in_the_store_are_never_returned_as_whole(on_s3: Context, s3: S3Server) -> None:
    """Forces the fault: after the copy somebody overwrites the object with other bytes of the same length."""
    run_id = done(on_s3)
    mirror(on_s3)
    copy, store = read_copy(on_s3.engine, run_id), on_s3.object_store
    assert copy is not None
    assert store is not None
    manifest = read_manifest(store, str(copy.place), str(copy.manifest_sha256))
    assert b"".join(read_file(store, str(copy.place), manifest.files[0])) == b"weights"
    key = f"of the team/{copy.place}/files/model.pt"
    s3.client().put_object(Bucket=BUCKET, Key=key, Body=b"Weights")
    with pytest.raises(WrongBytesError, match="other bytes"):
        list(read_file(store, str(copy.place), manifest.files[0]))
    s3.client().delete_object(Bucket=BUCKET, Key=key)
    with pytest.raises(StoreError, match="not there"):
        list(read_file(store, str(copy.place), manifest.files[0]))


@pytest.mark.ring("all")
def test_an_artifact_that_the_store_refuses_does_not_hold_up_others(
    on_s3: Context, s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the store refuses one artifact each time it comes."""
    spec = small_experiment(outputs=BOTH)
    (run_id,) = create(on_s3, spec)
    finish(on_s3, run_id, {"model": "weights", "notes": "text"})
    real = copying.copy_artifact

    def refuse(store: ObjectStore, source: copying.Source, place: str, progress: copying.Progress) -> str:
        if source.path == "model.pt":
            raise StoreError("EntityTooLarge")
        return real(store, source, place, progress)

    monkeypatch.setattr("scheduler.ticks.mirror.copy_artifact", refuse)
    mirror(on_s3)
    with snapshot(on_s3.engine) as db:
        assert outages.find(db, f"s3://{BUCKET}/of the team") is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("store.mirror.outages.now", lambda: _later())
        patch.setattr("scheduler.ticks.mirror.now", lambda: _later())
        mirror(on_s3)
    copy = read_copy(on_s3.engine, run_id, "notes")
    assert copy is not None
    assert copy.state is CopyState.MIRRORED


def _later() -> datetime:
    return now() + timedelta(seconds=10)


@pytest.mark.ring("all")
def test_a_bucket_that_is_not_there_and_wrong_credentials_say_so_without_secrets(
    context: Context, s3: S3Server
) -> None:
    absent = replace(context, object_store=ObjectStore("s3://another-bucket", s3.options))
    run_id = done(absent)
    mirror(absent)
    with snapshot(context.engine) as db:
        outage = outages.find(db, "s3://another-bucket")
    assert outage is not None
    assert "not there" in outage.problem
    copy = read_copy(context.engine, run_id)
    assert copy is not None
    for text in (outage.problem, str(copy.problem)):
        assert KEY not in text
        assert SECRET not in text


def test_no_message_has_a_secret_of_the_options_or_of_a_signed_address() -> None:
    store = ObjectStore("memory://x", {"client_kwargs": {"password": "hunter22"}, "token": "hunter2"})
    text = store._describe(OSError("hunter22 hunter2 https://me:pw@host/path?X-Amz-Signature=abc failed"))
    assert text == "*** *** https://host/path failed"


def test_a_file_store_needs_no_package(context: Context, tmp_path: Path) -> None:
    root = tmp_path / "mirror"
    worker = replace(context, object_store=ObjectStore(f"file://{root}", {}))
    run_id = done(worker)
    mirror(worker)
    copy = read_copy(worker.engine, run_id)
    assert copy is not None
    assert copy.state is CopyState.MIRRORED, copy.problem
    (listed,) = json.loads((root / str(copy.place) / "manifest.json").read_text())["files"]
    assert listed == [
        "model.pt",
        7,
        hashlib.sha256((root / str(copy.place) / "files/model.pt").read_bytes()).hexdigest(),
    ]


@pytest.mark.ring("all")
def test_a_store_whose_package_is_absent_is_refused_at_the_start(tmp_path: Path) -> None:
    """Forces the fault: the import of the package fails, in a process that has not loaded it."""
    script = "import sys; sys.modules['s3fs'] = None; from scheduler.context import Context; "
    script += "from contract.settings import Settings; Context.of(Settings(artifact_store='s3://bucket', slurm=False))"
    done = subprocess.run(
        [sys.executable, "-c", script], env={"BIGBATCH_HOME": str(tmp_path)}, capture_output=True, text=True
    )
    assert done.stderr.rstrip().endswith("whose package is not installed (pip install 'bigbatch[s3]')")
