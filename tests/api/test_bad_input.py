"""Tests of wrong requests: one error format, with the field and the calculation."""

import socket
import threading
import time

import httpx
import pytest
import uvicorn
from fastapi.testclient import TestClient

from api.app import create_app
from contract.settings import Settings
from tests.testing.api import SPEC, TOKEN, WITH_TOKEN, post
from tests.testing.servers import wait_for

pytestmark = pytest.mark.ring("quick")


def problem(client: TestClient, text: str | bytes, kind: str = "application/yaml") -> tuple[int, str, str, list[str]]:
    answer = post(client, text, kind)
    assert answer.headers["content-type"] == "application/problem+json"
    error = answer.json()
    assert (error["status"], error["instance"]) == (answer.status_code, "/api/v1/experiments")
    assert client.get("/api/v1/experiments").json()["items"] == []
    return (
        answer.status_code,
        error["code"],
        error["detail"],
        [f"{f['path']}: {f['message']}" for f in error["errors"]],
    )


def test_malformed_yaml_is_named_with_its_line(client: TestClient) -> None:
    status, code, message, _ = problem(client, "name: x\nbase: {batch: [64\n")
    assert (status, code) == (400, "malformed_document")
    assert "line 3, column 1" in message


JSON, YAML = "application/json", "application/yaml"


@pytest.mark.parametrize(("text", "kind"), [("{", JSON), ("", YAML), ("[" * 9999, JSON), ('{"name": NaN}', JSON)])
def test_other_malformed_bodies_are_refused(client: TestClient, text: str, kind: str) -> None:
    assert problem(client, text, kind)[0] in (400, 422)


def test_an_unknown_field_is_named(client: TestClient) -> None:
    assert problem(client, SPEC + "  epoch: 3\n") == (
        422,
        "invalid",
        "the experiment is not valid",
        ["base.epoch: unknown field"],
    )


def test_an_impossible_world_is_named_with_its_sum(client: TestClient) -> None:
    faults = problem(client, SPEC.replace("batch: 64", "batch: 7"))[3]
    assert faults == ["base.batch: batch 7 does not divide over 4 ranks"]


def test_an_unknown_model_is_named_with_those_there_are(client: TestClient) -> None:
    (fault,) = problem(client, SPEC + "  model: {kind: resnet51}\n")[3]
    assert fault.startswith("base.model:")
    assert "unknown kind 'resnet51'; the kinds are 'convnet', 'lenet', 'alexnet'" in fault


def test_a_body_of_ten_megabytes_is_refused_unread(client: TestClient) -> None:
    status, code, _, _ = problem(client, b"name: " + b"x" * 10_000_000)
    assert (status, code) == (413, "too_large")


def test_a_body_that_hides_its_length_is_refused_as_well(client: TestClient) -> None:
    pieces = (b"x" * 100_000 for _ in range(100))
    answer = client.post("/api/v1/experiments", content=pieces, headers={"content-type": "application/yaml"})
    assert answer.status_code == 413


def test_a_sweep_of_a_million_points_is_refused_with_its_size(client: TestClient) -> None:
    seeds = ", ".join(map(str, range(1000)))
    batches = ", ".join(str(4 * n) for n in range(2, 1002))
    faults = problem(client, SPEC + f"axes: {{seed: [{seeds}], batch: [{batches}]}}\n")[3]
    assert faults == ["axes: the grid has 1000 x 1000 = 1,000,000 points, more than the limit of 10,000"]


def test_bad_points_of_a_sweep_are_named(client: TestClient) -> None:
    faults = problem(client, SPEC + "axes: {batch: [64, 6]}\n")[3]
    assert faults == ["axes.batch: batch 6 does not divide over 4 ranks (point 1: batch=6)"]


def test_a_base_that_names_a_file_is_no_base_here(client: TestClient) -> None:
    """Files are the command's affair: the service never opens a path that a spec names."""
    faults = problem(client, "name: x\nbase: ../../etc/passwd\n")[3]
    assert faults == ["base: expected an object of fields and values"]


def test_a_type_that_a_form_can_send_is_refused(client: TestClient) -> None:
    assert problem(client, SPEC, "text/plain")[:2] == (415, "unsupported_type")


@pytest.mark.parametrize(
    "path",
    ["runs/99999999999999999999", "runs?before=99999999999999999999", "runs/1/points?after=99999999999999999999"],
)
def test_a_number_that_no_database_holds_is_refused(client: TestClient, path: str) -> None:
    assert client.get(f"/api/v1/{path}").status_code == 422


@pytest.mark.parametrize("path", ["/%00", "/" + "x" * 300])
def test_a_path_that_no_file_has_is_not_an_error_of_the_service(client: TestClient, path: str) -> None:
    assert client.get(path).status_code in (200, 404)


@pytest.mark.parametrize(
    ("field", "value"), [("epochs", 10**18), ("epochs", 2**31 - 1), ("seed", 10**30), ("batch", 10**40)]
)
def test_a_number_beyond_all_bounds_is_named(client: TestClient, field: str, value: int) -> None:
    text = "\n".join(line for line in SPEC.splitlines() if f"  {field}:" not in line)
    (fault,) = [f for f in problem(client, f"{text}\n  {field}: {value}\n")[3] if f.startswith(f"base.{field}:")]
    assert fault


def test_a_body_that_breaks_off_is_no_experiment(settings: Settings) -> None:
    """Forces the fault: the connection closes after a part of the body that would parse by itself."""
    door = socket.create_server(("127.0.0.1", 0))
    port = door.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(create_app(settings), log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [door]})
    thread.start()
    wait_for("the server", lambda: server.started)
    head = f"POST /api/v1/experiments HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Type: application/yaml\r\n"
    head += f"Authorization: Bearer {TOKEN}\r\n"
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(f"{head}Content-Length: {len(SPEC) + 20}\r\n\r\n{SPEC}".encode())
        time.sleep(0.3)
    time.sleep(0.5)
    try:
        listed = httpx.get(f"http://127.0.0.1:{port}/api/v1/experiments", headers=WITH_TOKEN, timeout=60).json()[
            "items"
        ]
    finally:
        server.should_exit = True
        thread.join()
    assert listed == []
