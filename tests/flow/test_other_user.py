"""Another Unix user of the service's machine reads nothing of the service's, and no request of theirs is accepted."""

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.testing import spy
from tests.testing.other_user import NOBODY, open_folder_of_tests, run_as_other_user
from tests.testing.service import Service, running

pytestmark = pytest.mark.flow
SPEC = """
name: of the service's user
base:
  optimizer: {kind: sgd}
  schedule: {kind: constant, rate: 0.05}
  batch: 128
  epochs: 100000
  resources: {kind: local, ranks_per_node: 2}
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user can enter: only the service's own modes protect what is in it."""
    with open_folder_of_tests() as path:
        yield path


def search_as_other_user(folder: Path, asked: dict[str, Any]) -> dict[str, Any]:
    """Run the search of tests.testing.spy as another user; return its report."""
    place = folder / "other-user"
    place.mkdir(exist_ok=True)
    os.chown(place, NOBODY, NOBODY)
    run_as_other_user(Path(spy.__file__).read_text(), place / "report.json", text=json.dumps(asked).encode())
    return dict(json.loads((place / "report.json").read_text()))


def operations(service: Service) -> list[tuple[str, str]]:
    """Every operation of the service, and the dashboard's pages."""
    headers = {"authorization": f"Bearer {service.token}"}
    paths = httpx.get(f"{service.url}/api/openapi.json", headers=headers, timeout=60).json()["paths"]
    named = [(method.upper(), path) for path, methods in paths.items() for method in methods]
    for word in ("run_id", "experiment_id"):
        named = [(method, path.replace(f"{{{word}}}", "1")) for method, path in named]
    return [*named, ("GET", "/"), ("GET", "/runs/1"), ("GET", "/api/openapi.json"), ("GET", "/assets/x.js")]


@pytest.mark.parametrize("visibility", ["private", "public"])
def test_another_user_reads_no_file_of_the_service_and_no_request_is_accepted(folder: Path, visibility: str) -> None:
    home, runs = folder / "home", folder / "runs"
    settings = {"BIGBATCH_SLURM": "false", "BIGBATCH_RUNS": str(runs), "BIGBATCH_RUN_FOLDERS": visibility}
    with running(home, settings) as service:
        (run_id,) = service.post(SPEC)
        service.wait_until(run_id, step=3)
        (secret_file,) = runs.glob("*/attempts/1.rendezvous")
        words = [service.token, json.loads(secret_file.read_text())["secret"]]
        requests = operations(service)
        asked = {
            "words": [word.encode().hex() for word in words],
            "folders": [str(home), str(runs)],
            "requests": [[method, service.url + path] for method, path in requests],
        }
        report = search_as_other_user(folder, asked)
        service.stop(run_id)
    assert list(report["places"].values()) == [[], []]
    assert [path for path in report["readable"] if Path(path).is_relative_to(home)] == []
    readable = {path for path in map(Path, report["readable"]) if path.is_relative_to(runs)}
    if visibility == "public":
        assert str(secret_file) in report["hidden"]
        assert {"events.jsonl", "out.log", "spec.json"} <= {path.name for path in readable}
    else:
        assert readable == set()
    for process in service.processes.values():
        hidden = {f"/proc/{process.pid}/{name}" for name in ("environ", "mem", "fd", "maps")}
        assert hidden <= set(report["hidden"])
    accepted = {request: status for request, status in zip(requests, report["statuses"], strict=True) if status != 401}
    assert accepted == {("GET", "/api/v1/health"): 200, ("GET", "/api/v1/ready"): 200}
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
