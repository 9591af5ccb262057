"""The dashboard's files: kept by browsers for good, and compressed when they were built."""

import gzip
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.middleware.gzip import GZipMiddleware

from api import dashboard

CODE = "const text = 'a file of code';\n" * 200


@pytest.fixture
def files(tmp_path: Path) -> TestClient:
    """The files of a build: one has a compressed file beside it, as if it were of another content, one has none."""
    assets = tmp_path / "assets"
    assets.mkdir()
    (tmp_path / "index.html").write_text("<!doctype html><title>Bigbatch</title>")
    (tmp_path / "theme.js").write_text("document.documentElement")
    for name in ("page-1a.js", "old-2b.js"):
        (assets / name).write_text(CODE)
    (assets / "page-1a.js.gz").write_bytes(gzip.compress(b"compressed when it was built"))
    app = FastAPI(openapi_url=None)
    dashboard.install(app, tmp_path)
    app.add_middleware(GZipMiddleware, minimum_size=2000)
    return TestClient(app)


@pytest.mark.parametrize("encoding", ["gzip, br", "br;q=1.0, gzip;q=0.8", "gzip; q=1"])
def test_a_client_that_takes_gzip_gets_the_file_that_the_build_compressed(files: TestClient, encoding: str) -> None:
    answer = files.get("/assets/page-1a.js", headers={"Accept-Encoding": encoding})
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["content-type"].startswith("text/javascript")
    assert answer.text == "compressed when it was built"


@pytest.mark.parametrize("encoding", ["identity", "br"])
def test_other_clients_get_the_file_itself(files: TestClient, encoding: str) -> None:
    answer = files.get("/assets/page-1a.js", headers={"Accept-Encoding": encoding})
    assert "content-encoding" not in answer.headers
    assert answer.text == CODE


def test_a_file_without_a_compressed_one_is_compressed_by_the_service(files: TestClient) -> None:
    answer = files.get("/assets/old-2b.js", headers={"Accept-Encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.text == CODE


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_files_are_kept_for_good_and_the_page_is_asked_for_each_time(files: TestClient, encoding: str) -> None:
    for name in ("page-1a.js", "old-2b.js"):
        answer = files.get(f"/assets/{name}", headers={"Accept-Encoding": encoding})
        assert "immutable" in answer.headers["cache-control"]
        assert "Accept-Encoding" in answer.headers["vary"]
    for page in ("/runs/7", "/index.html"):
        assert files.get(page).headers["cache-control"] == "no-cache"
    assert "stale-while-revalidate" in files.get("/theme.js").headers["cache-control"]


def test_a_file_of_an_older_build_is_not_found_and_not_kept(files: TestClient) -> None:
    for name in ("page-0f.js", "a" * 300, "a%00b", "%2e%2e/index.html"):
        answer = files.get(f"/assets/{name}", headers={"Accept-Encoding": "gzip"})
        assert answer.status_code == 404
        assert "cache-control" not in answer.headers


@pytest.mark.ring("gate")
def test_an_unknown_path_does_not_exist_and_a_browser_gets_the_page_that_says_so(files: TestClient) -> None:
    for path in ("/", "/runs/7", "/experiments/7/", "/views/3", "/index.html"):
        for accept in ("*/*", "text/html,*/*;q=0.8"):
            answer = files.get(path, headers={"accept": accept})
            assert (answer.status_code, answer.headers["content-type"][:9]) == (200, "text/html"), path
    for path in ("/openapi.json", "/docs", "/runs.csv", "/api", "/v1/experiments", "/nothing/here"):
        answer = files.get(path, headers={"accept": "*/*"})
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/json"), path
        browser = files.get(path, headers={"accept": "text/html,*/*;q=0.8"})
        assert (browser.status_code, browser.headers["content-type"][:9]) == (404, "text/html"), path
    assert files.get("/theme.js", headers={"accept": "*/*"}).status_code == 200
