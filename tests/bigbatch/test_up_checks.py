"""Tests of what `bigbatch up` checks before anything starts: address, token, home and settings."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bigbatch.commands.up import warn_of_root
from bigbatch.service.address import Address, check_address
from bigbatch.service.home_lock import lock_home
from contract.refusal import REFUSED
from tests.testing.api import TOKEN
from tests.testing.command import Call
from tests.testing.other_user import open_folder_of_tests


def test_a_service_on_a_home_that_others_prepared_does_not_start(call: Call, tmp_path: Path) -> None:
    """Forces the fault: another user could write into the home and has put a token there."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "token").write_text(TOKEN)
    (tmp_path / "home" / "token").chmod(0o666)
    reported = call("up", "--port", 0)
    assert reported.code == 1
    assert reported.err.startswith("other users may have read the token file")


def test_a_short_token_is_refused(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIGBATCH_TOKEN", "secret")
    reported = call("up")
    assert reported.code == 1
    assert reported.err.startswith("BIGBATCH_TOKEN: the token has 6 characters, fewer than 32: make one with ")
    assert "secret" not in reported.err.replace("BIGBATCH_TOKEN", "")


@pytest.mark.parametrize(("user", "is_warned"), [(0, True), (1000, False)])
def test_only_root_is_warned(
    user: int, is_warned: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    warn_of_root()
    assert ("start it as an ordinary user" in capfd.readouterr().err) == is_warned


def test_a_port_that_is_taken_is_refused_before_anything_starts(call: Call, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        reported = call("up", "--port", port)
    assert reported == (1, "", f"port {port} is in use: choose another with --port\n")
    assert not (tmp_path / "home" / "logs").exists()
    assert not (tmp_path / "home" / "up.lock").exists()


def test_port_0_is_any_that_is_free() -> None:
    port = check_address(Address("127.0.0.1", 0), "").port
    socket.create_server(("127.0.0.1", port)).close()


def test_a_second_service_on_the_same_home_is_refused(call: Call, tmp_path: Path) -> None:
    with lock_home(tmp_path / "home"):
        reported = call("up", "--port", 0)
    assert reported == (1, "", f"a service already runs on {tmp_path / 'home'} (process {os.getpid()})\n")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_beyond_loopback_a_token_is_needed(call: Call, host: str) -> None:
    reported = call("up", "--host", host)
    assert reported.code == 1
    assert "set BIGBATCH_TOKEN" in reported.err


def test_an_address_that_is_not_ours_is_refused(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIGBATCH_TOKEN", TOKEN)
    for words in (("--host", "192.0.2.1"), ("--host", "no such host"), ("--port", "70000")):
        reported = call("up", *words)
        assert reported.code == 1
        assert len(reported.err.splitlines()) == 1


def test_a_setting_that_does_not_parse_is_named(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIGBATCH_LOCAL_RANKS", "many")
    reported = call("up")
    assert reported.code == 1
    assert reported.err.startswith("BIGBATCH_LOCAL_RANKS: ")


def test_a_home_that_cannot_be_made_is_named(call: Call, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    reported = call("up", "--home", tmp_path / "file")
    assert reported.code == 1
    assert "cannot be the service's home" in reported.err


def test_a_home_is_closed_to_other_users(tmp_path: Path) -> None:
    for home in (tmp_path / "new", tmp_path / "old"):
        (tmp_path / "old").mkdir(mode=0o755, exist_ok=True)
        with lock_home(home):
            assert home.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["home", "runs"])
def test_a_service_whose_folders_others_can_write_does_not_start(
    call: Call, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    with open_folder_of_tests() as folder:
        (folder / "open").mkdir()
        (folder / "open").chmod(0o777)
        places = {"home": folder / "home", "runs": folder / "runs", name: folder / "open" / name}
        monkeypatch.setenv("BIGBATCH_RUNS", str(places["runs"]))
        reported = call("up", "--port", 0, "--home", places["home"])
        assert reported.code == 1
        assert reported.err.startswith(f"{folder}/open can be written by every user: run chmod o-w on it; else set ")
        assert not (places["home"] / "up.lock").exists()
        for part in (["scheduler", "worker"], ["scheduler", "clock"], ["api", "--port", "0"]):
            if name == "runs" and part[1] != "worker":
                continue  # these two find no programs there
            environment = {**os.environ, "BIGBATCH_HOME": str(places["home"])}
            words = [sys.executable, "-m", *part]
            done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=150)
            assert (done.returncode, done.stderr) == (REFUSED, reported.err)


@pytest.mark.ring("all")
@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"DATABASE": "postgresql://ada:5ecret@127.0.0.1:1/x"}, "the database postgresql://ada:***@127.0.0.1:1/x does"),
        ({"BROKER": "redis://:5ecret@127.0.0.1:1/0"}, "the broker redis://:***@127.0.0.1:1/0 does not answer: "),
        ({"DATABASE": "postgresql://ada:5e@cret@host/x"}, "BIGBATCH_DATABASE: the name or the password has one of"),
        ({"BROKER": "redis://:5e/cret@host:6379/0"}, "BIGBATCH_BROKER: the name or the password has one of"),
    ],
)
def test_a_wrong_address_is_one_sentence_at_once_without_its_password(
    settings: dict[str, str], told: str, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(f"BIGBATCH_{name}", value)
    began = time.monotonic()
    reported = call("up", "--port", 0)
    assert time.monotonic() - began < 30, "and not after the 90 s for a start"
    assert reported.code == 1
    [line] = [line for line in reported.err.splitlines() if "as root" not in line]
    assert line.startswith(told)
    for part in ("5e", "cret"):
        assert part not in reported.err + reported.out
