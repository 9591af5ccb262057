"""Copies in an object store on the whole service, with a real S3-compatible server: outages, kills and secrets."""

import json
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from contract.lifecycle.artifact import CopyState
from store.mirror.copies import CLAIM
from store.session import engine_for
from store.tables.mirror import MirrorCopy
from tests.testing.mirror import read_copy
from tests.testing.object_store import BUCKET, KEY, SECRET, S3Server
from tests.testing.servers import wait_for
from tests.testing.service import Service, running

pytestmark = pytest.mark.flow
WRITE = "import os, sys; open(sys.argv[1], 'wb').write(os.urandom({size}))"


@pytest.fixture
def s3() -> Iterator[S3Server]:
    server = S3Server()
    server.start()
    yield server
    server.kill()


@pytest.fixture
def service(tmp_path: Path, s3: S3Server) -> Iterator[Service]:
    settings = {
        "BIGBATCH_SLURM": "false",
        "BIGBATCH_ARTIFACT_STORE": f"s3://{BUCKET}/team",
        "BIGBATCH_ARTIFACT_STORE_OPTIONS": json.dumps(s3.options),
    }
    with running(tmp_path / "home", settings) as service:
        yield service


def done(service: Service, size: int) -> int:
    """Return a run of a program that has written a file of random bytes."""
    script = Path(service.environment["BIGBATCH_HOME"]) / "write.py"
    script.write_text(WRITE.format(size=size))
    base = {
        "kind": "program",
        "command": f"python {script} {{outputs.model}}",
        "outputs": {"model": "model.bin"},
        "launcher": "plain",
        "resources": {"kind": "local"},
    }
    (run_id,) = service.post(json.dumps({"name": "mirror", "base": base}))
    assert service.wait_for_end(run_id)["state"] == "done", service.story(run_id)
    return run_id


def model(service: Service, run_id: int) -> dict[str, Any]:
    (found,) = service.get(f"/runs/{run_id}/artifacts")["items"]
    return dict(found)


def is_mirrored(service: Service, run_id: int) -> bool:
    return bool(model(service, run_id)["mirror"]["state"] == "mirrored")


def file_of(service: Service, run_id: int) -> Path:
    (folder,) = (Path(service.environment["BIGBATCH_HOME"]) / "runs").glob(f"{run_id:06}-*")
    return folder / "model.bin"


def row_of(service: Service, run_id: int) -> MirrorCopy:
    engine = engine_for(f"sqlite:///{service.environment['BIGBATCH_HOME']}/bigbatch.db")
    copy = read_copy(engine, run_id)
    assert copy is not None
    return copy


def test_an_output_is_copied_after_an_outage_and_downloaded_when_its_file_is_gone(
    service: Service, s3: S3Server
) -> None:
    """Forces the fault: the object store is down when the run ends, and comes back."""
    s3.kill()
    run_id = done(service, 3_000_000)
    wait_for("the outage", lambda: not service.get(f"/runs/{run_id}/artifacts")["object_store"]["works"])
    shown = service.get(f"/runs/{run_id}/artifacts")
    assert "does not work since" in shown["items"][0]["mirror"]["sentence"]
    assert service.get(f"/runs/{run_id}")["state"] == "done"
    s3.start()
    wait_for("the copy", lambda: is_mirrored(service, run_id), 240)
    file_of(service, run_id).unlink()
    content = service.ask("GET", f"/runs/{run_id}/artifacts/model").content
    assert sha256(content).hexdigest() == model(service, run_id)["sha256"]
    s3.kill()
    answer = service.ask("GET", f"/runs/{run_id}/artifacts/model")
    assert (answer.status_code, answer.json()["code"]) == (503, "artifact_store_unavailable")
    written = "".join(path.read_text() for path in service.logs.glob("*.log"))
    for secret in (KEY, SECRET):
        assert secret not in json.dumps([shown, answer.json()])
        assert secret not in written


@pytest.mark.long
def test_a_worker_that_is_killed_in_the_middle_of_a_copy_leaves_it_to_the_next_one(
    service: Service, s3: S3Server
) -> None:
    """Forces the fault: kill -9 of the worker while it sends 200 MB, three times; the claim must expire each time."""
    run_id = done(service, 200_000_000)
    for claims in range(1, 4):
        wait_for("a worker that copies", lambda claims=claims: row_of(service, run_id).claims == claims, 240)
        time.sleep(0.3)
        service.kill("worker")
        copy = row_of(service, run_id)
        assert (copy.state, copy.copied_at) == (CopyState.WAITING, None), "the copy was too fast to be killed"
        assert not is_mirrored(service, run_id)
        service.start("worker")
    wait_for("the copy", lambda: is_mirrored(service, run_id), CLAIM.total_seconds() + 240)
    copy = row_of(service, run_id)
    assert (copy.claims, copy.problem) == (4, None)
    key = f"team/{copy.place}/files/model.bin"
    body = s3.client().get_object(Bucket=BUCKET, Key=key)["Body"].read()
    assert sha256(body).hexdigest() == model(service, run_id)["sha256"]
