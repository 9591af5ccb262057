"""The service behind a real nginx with TLS, below a path, as docs/proxy.md configures it."""

import ssl
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from sqlalchemy import Engine

from bigbatch.client import Client
from bigbatch.errors import BigbatchError, Unreachable
from bigbatch.snapshot.take import take_snapshot
from contract.settings import Settings
from store.session import transaction
from store.tables.runs import Run
from tests.testing.api import SPEC, TOKEN, WITH_TOKEN, target
from tests.testing.command import serving
from tests.testing.event_stream import event_stream
from tests.testing.proxy import KEPT, STRIPPED, Proxy, nginx
from tests.testing.servers import free_port
from tests.testing.stored_runs import TO_RUNNING, move


@pytest.fixture(params=[KEPT, STRIPPED])
def proxy(
    request: pytest.FixtureRequest, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Proxy]:
    """The service behind the proxy, which leaves the path or cuts it off; clients trust its certificate."""
    port = free_port()
    public = settings.model_copy(update={"public_url": f"https://localhost:{port}/bigbatch", "live_seconds": 0.05})
    with (
        serving(public) as url,
        nginx(tmp_path / "nginx", int(url.rpartition(":")[2]), request.param, port=port) as proxy,
    ):
        for name in ("URL", "TOKEN", "PUBLIC_URL"):
            monkeypatch.delenv(f"BIGBATCH_{name}", raising=False)
        monkeypatch.setenv("SSL_CERT_FILE", str(proxy.certificate))
        yield proxy


def test_a_link_signs_a_browser_in_and_out(proxy: Proxy) -> None:
    with Client(proxy.url, TOKEN) as client:
        link = client.sign_in_url("/runs/1")
    assert link.startswith(f"{proxy.url}/sign-in#code=")
    context = ssl.create_default_context(cafile=proxy.certificate)
    with httpx.Client(verify=context, headers={"origin": proxy.url.removesuffix("/bigbatch")}) as browser:
        assert (
            'action="/bigbatch/sign-in"'
            in browser.get(proxy.url, headers={"accept": "text/html"}, follow_redirects=True).text
        )
        answer = browser.post(f"{proxy.url}/sign-in", data={"token": TOKEN, "next": "/runs/1"})
        assert (answer.status_code, target(answer)) == (303, "/bigbatch/runs/1")
        assert "; Path=/bigbatch; " in answer.headers["set-cookie"]
        assert "; Secure" in answer.headers["set-cookie"]
        assert browser.get(f"{proxy.url}/api/v1/runs").status_code == 200
        assert target(browser.post(f"{proxy.url}/sign-out")) == "/bigbatch/sign-in"
        assert browser.get(f"{proxy.url}/api/v1/runs").status_code == 401


def test_a_snapshot_of_several_megabytes_goes_through(proxy: Proxy, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "weights.bin").write_bytes(bytes(range(256)) * 20_000)
    with Client(proxy.url, TOKEN) as client:
        taken = take_snapshot(tree, client)
    context = ssl.create_default_context(cafile=proxy.certificate)
    answer = httpx.get(f"{proxy.url}/api/v1/snapshots/{taken.hash}/files", headers=WITH_TOKEN, verify=context)
    assert [file["size"] for file in answer.json()["files"]] == [5_120_000]


def test_events_arrive_while_the_stream_goes_on(
    proxy: Proxy, sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.testing.event_stream.CONTEXT", ssl.create_default_context(cafile=proxy.certificate))
    with Client(proxy.url, TOKEN) as client:
        client.create(SPEC)
    with event_stream(proxy.url) as stream:
        for states in (TO_RUNNING[:1], TO_RUNNING[1:]):
            with transaction(sqlite_engine) as db:
                for state in states:
                    move(db, db.get_one(Run, 1), state)
            stream.wait_for_run(1, state=states[-1])
        assert not stream.has_ended.is_set()


def test_an_untrusted_certificate_is_told_with_what_makes_it_trusted(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with Client(proxy.url, TOKEN) as client, pytest.raises(Unreachable) as told:
        client.health()
    assert "set SSL_CERT_FILE to a file in PEM" in str(told.value)
    assert "bigbatch up" not in str(told.value)
    monkeypatch.setenv("SSL_CERT_FILE", str(proxy.certificate))
    with Client(proxy.url, TOKEN) as client:  # what it says, done: the certificate is its own authority
        assert client.health().ok


def test_a_certificate_of_another_name_is_told(proxy: Proxy) -> None:
    other = proxy.url.replace("localhost", "127.0.0.2")
    with Client(other, TOKEN) as client, pytest.raises(Unreachable, match="use the name that the certificate has"):
        client.health()


def test_a_file_of_certificates_that_cannot_be_read_is_named(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "absent.pem"))
    with pytest.raises(BigbatchError, match=r"SSL_CERT_FILE=.*absent\.pem cannot be used"):
        Client(proxy.url, TOKEN)
    with Client("http://127.0.0.1:8000", TOKEN) as client:  # which needs no certificate
        assert client.url
