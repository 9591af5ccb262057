"""The service below a path of a host: whatever leads back to it has the path, whether or not a proxy leaves it."""

import json
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from pydantic import ValidationError

from api import dashboard
from api.app import create_app
from contract.settings import OWN_PATHS, Settings
from contract.snapshot.pack import pack_header
from tests.testing.api import SPEC, TOKEN, WITH_TOKEN, post, target

ROOT = "/bigbatch"
WEB = Path(__file__).parents[2] / "web"
INDEX = '<html data-root=""><script src="./theme.js"></script><script src="./assets/a.js"></script>'


@pytest.fixture(params=[ROOT, ""], ids=["kept", "cut off"])
def prefix(request: pytest.FixtureRequest) -> str:
    """What the proxy leaves of the path."""
    return str(request.param)


@pytest.fixture
def below(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """The service below ROOT, with a dashboard of one page, and no token."""
    (tmp_path / "dist" / "assets").mkdir(parents=True)
    (tmp_path / "dist" / "index.html").write_text(INDEX)
    (tmp_path / "dist" / "theme.js").write_text("theme")
    (tmp_path / "dist" / "assets" / "a.js").write_text("a")
    monkeypatch.setattr(dashboard, "DIST", tmp_path / "dist")
    app = create_app(settings.model_copy(update={"root_path": ROOT}))
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False, follow_redirects=False) as client:
        yield client


def test_each_page_names_its_files_below_the_root(below: TestClient, prefix: str) -> None:
    for page in ("/", "/runs/7", "/index.html"):
        text = below.get(prefix + page, headers=WITH_TOKEN).text
        assert f'data-root="{ROOT}"' in text
        for source in re.findall(r'src="([^"]*)"', text):
            assert source.startswith(f"{ROOT}/")
            found = [below.get(path, headers=WITH_TOKEN) for path in (source, source.removeprefix(ROOT))]
            assert [answer.text for answer in found] == [Path(source).stem] * 2


def test_a_sign_in_leads_below_the_root_and_so_does_a_sign_out(below: TestClient, prefix: str) -> None:
    form = below.get(f"{prefix}/runs/7?a=b", headers={"accept": "text/html"})
    assert form.status_code == 401
    assert f'action="{ROOT}/sign-in"' in form.text
    assert 'value="/runs/7?a=b"' in form.text
    answer = below.post(f"{prefix}/sign-in", data={"token": TOKEN, "next": "/runs/7?a=b"})
    # relative: jupyter-server-proxy would put its path before one that begins with /
    assert (answer.status_code, answer.headers["location"]) == (303, "./runs/7?a=b")
    assert f"; Path={ROOT};" in answer.headers["set-cookie"]
    assert below.get(f"{ROOT}/api/v1/runs").status_code == 200
    assert below.get("/api/v1/runs").status_code == 401, "a browser keeps the cookie from other services of the host"
    left = below.post(f"{ROOT}/sign-out")
    assert target(left) == f"{ROOT}/sign-in"
    assert f"; Path={ROOT};" in left.headers["set-cookie"]


def test_the_api_answers_and_a_problem_names_the_address_that_was_asked_for(below: TestClient, prefix: str) -> None:
    below.headers.update(WITH_TOKEN)
    body = {"content": SPEC, "headers": {"content-type": "application/yaml"}}
    assert below.post(f"{prefix}/api/v1/experiments", **body).status_code == 201
    first = below.get(f"{prefix}/api/v1/experiments/1")
    assert first.headers["etag"]
    assert first.headers["cache-control"] == "private, no-cache"
    gone = below.get(f"{prefix}/api/v1/experiments/2")
    assert gone.json()["instance"] == f"{ROOT}/api/v1/experiments/2"
    assert below.patch(f"{prefix}/api/v1/health").headers["allow"] == "GET, HEAD"
    assert below.get(f"{prefix}/api/openapi.json").json()["servers"] == [{"url": ROOT}]


def test_a_snapshot_is_taken_below_the_root(below: TestClient, prefix: str) -> None:
    """Bodies that endpoints read as they arrive are known by their path."""
    kind = {**WITH_TOKEN, "content-type": "application/octet-stream"}
    answer = below.post(
        f"{prefix}/api/v1/snapshots/blobs", content=pack_header(sha256(b"x").hexdigest(), 1) + b"x", headers=kind
    )
    assert answer.json() == {"blobs": 1}


def test_an_unforeseen_error_has_the_headers_of_the_api(below: TestClient, prefix: str) -> None:
    """Forces the fault: an endpoint raises an exception that no handler expects."""
    app = below.app
    assert isinstance(app, FastAPI)

    @app.get("/api/v1/broken")
    def broken() -> None:
        raise RuntimeError

    app.router.routes.insert(0, app.router.routes.pop())
    answer = below.get(f"{prefix}/api/v1/broken", headers=WITH_TOKEN)
    assert (answer.status_code, answer.headers["cache-control"]) == (500, "no-store")
    assert answer.json()["instance"] == f"{ROOT}/api/v1/broken"


def test_a_header_of_a_client_changes_no_path(settings: Settings) -> None:
    client = TestClient(create_app(settings), base_url="http://localhost", follow_redirects=False)
    headers = {"accept": "text/html", "x-forwarded-prefix": "/evil", "x-script-name": "/evil"}
    assert "evil" not in client.get("/", headers=headers).text
    assert client.get("/sign-in", headers=headers).text.count('action="/sign-in"') == 1


def test_without_a_root_a_path_of_that_name_does_not_exist(client: TestClient) -> None:
    assert post(client, SPEC).status_code == 201
    assert client.get(f"{ROOT}/api/v1/experiments/1").status_code == 404


def test_a_portal_that_replaces_the_host_needs_the_dashboards_address(settings: Settings) -> None:
    """Open OnDemand sends the compute node's name as Host."""
    url, sent = (
        "https://portal.example.org:443/node/n1/8000",
        {"host": "n1:8000", "origin": "https://portal.example.org"},
    )
    known = TestClient(create_app(settings.model_copy(update={"public_url": url})), follow_redirects=False)
    answer = known.post("/node/n1/8000/sign-in", data={"token": TOKEN}, headers=sent)
    assert (answer.status_code, target(answer)) == (303, "/node/n1/8000/")
    assert "; Secure" in answer.headers["set-cookie"]
    for origin in (
        "https://portal.example.org.evil.example",
        "http://portal.example.org",
        "null",
        "https://evil.example",
    ):
        assert known.post("/sign-in", data={"token": TOKEN}, headers={**sent, "origin": origin}).status_code == 403
    assert TestClient(create_app(settings)).post("/sign-in", data={"token": TOKEN}, headers=sent).status_code == 403


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"root_path": "/bigbatch/"}, "/bigbatch"),
        ({"root_path": "/"}, ""),
        ({"public_url": "https://lab.example.org"}, ""),
        ({"public_url": "https://lab.example.org/a/b/"}, "/a/b"),
        ({"public_url": "https://lab.example.org/a", "root_path": "/user/a%40b/proxy/8000"}, "/user/a%40b/proxy/8000"),
    ],
)
def test_the_path_is_the_settings_or_that_of_the_public_address(given: dict[str, str], path: str) -> None:
    assert Settings.model_validate(given).service_path() == path


@pytest.mark.parametrize(
    "given",
    [
        {"root_path": "bigbatch"},
        {"root_path": "//evil.example"},
        {"root_path": '/a"><script>'},
        {"root_path": "/runs/x"},
        {"public_url": "https://lab.example.org/experiments"},
        {"public_url": "https://lab.example.org/a?b"},
    ],
)
def test_a_path_that_no_proxy_can_serve_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        Settings.model_validate(given)


def test_a_path_with_signs_that_an_address_encodes_is_found_in_both_forms(settings: Settings) -> None:
    client = TestClient(create_app(settings.model_copy(update={"root_path": "/user/a%40b"})), headers=WITH_TOKEN)
    for path in ("/user/a%40b/api/v1/runs", "/user/a@b/api/v1/runs", "/api/v1/runs"):
        assert client.get(path).json()["items"] == []


def test_the_first_parts_of_the_services_own_paths_are_known(client: TestClient) -> None:
    paths = json.loads(client.get("/api/openapi.json").text)["paths"]
    routes = "".join((WEB / "src" / "app" / name).read_text() for name in ("App.tsx", "pages.tsx"))
    pages = re.findall(r'path="/(\w+)"', routes) + re.findall(r"/\^\\/(\w+)", routes)
    assert {path.split("/")[1] for path in paths} | set(pages) | {"assets", "sign-in", "sign-out"} == OWN_PATHS
