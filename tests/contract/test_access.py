"""Tests of the token file and of the record of a running service."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bigbatch.client import Client
from contract.access.service_address import address_of_home, recorded_address
from contract.access.service_record import recorded_service, token_of_local_service
from contract.access.token_file import TokenFileError, read_or_create_token
from tests.testing.other_user import NOBODY, open_folder_of_tests

pytestmark = pytest.mark.ring("quick")

TOKEN = "t" * 43


@pytest.fixture
def open_umask() -> object:
    """The umask with which a file gets every permission that its creation requests."""
    before = os.umask(0)
    yield
    os.umask(before)


def test_the_token_is_random_and_for_its_owner_only(tmp_path: Path, open_umask: object) -> None:
    tokens = {read_or_create_token(tmp_path / home) for home in ("a", "b")}
    assert len(tokens) == 2
    assert min(map(len, tokens)) == 43  # 32 bytes in base64
    assert stat.S_IMODE((tmp_path / "a" / "token").stat().st_mode) == 0o600
    assert os.listdir(tmp_path / "a") == ["token"]


def test_the_token_stays_and_all_concurrent_starts_have_the_same(tmp_path: Path) -> None:
    """Forces the race: many processes of the service look for the file before the first one has made it."""
    with ThreadPoolExecutor(16) as threads:
        tokens = {*threads.map(lambda _: read_or_create_token(tmp_path), range(64))}
    assert tokens == {read_or_create_token(tmp_path)}


def test_the_file_has_no_moment_with_more_permissions(
    tmp_path: Path, open_umask: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the look of another user at the file between its creation and its final name."""
    modes: list[int] = []
    link = os.link

    def looking(draft: str, path: str, **more: int) -> None:
        modes.append(stat.S_IMODE((tmp_path / draft).stat().st_mode))
        link(draft, path, **more)

    monkeypatch.setattr(os, "link", looking)
    opened, real = [], os.open

    def opening(path: str, flags: int, mode: int = 0o777, **more: int) -> int:
        if flags & os.O_CREAT:
            opened.append((bool(flags & os.O_EXCL), mode))
        return real(path, flags, mode, **more)

    monkeypatch.setattr(os, "open", opening)
    read_or_create_token(tmp_path)
    assert (modes, opened) == ([0o600], [(True, 0o600)])


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_file_that_others_can_use_is_refused(tmp_path: Path, mode: int) -> None:
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "token").chmod(mode)
    with pytest.raises(TokenFileError, match="mode is not 0600"):
        read_or_create_token(tmp_path)


def test_a_file_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces the fault: another user, who knows the token, has made the file in a folder that both can write."""
    read_or_create_token(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(TokenFileError, match="belongs to another user"):
        read_or_create_token(tmp_path)


def test_a_link_to_a_file_is_refused(tmp_path: Path) -> None:
    read_or_create_token(tmp_path / "other")
    (tmp_path / "token").symlink_to(tmp_path / "other" / "token")
    with pytest.raises(TokenFileError, match="cannot use the token file"):
        read_or_create_token(tmp_path)


def test_a_short_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "token").touch(0o600)
    with pytest.raises(TokenFileError, match="fewer than 32 characters"):
        read_or_create_token(tmp_path)


def test_a_client_finds_the_token_of_a_running_service_at_its_address_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_umask: object
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with recorded_service("127.0.0.1", 8000, TOKEN):
        assert token_of_local_service("127.0.0.1", 8000) == TOKEN
        assert token_of_local_service("127.0.0.1", 8001) == ""
        assert token_of_local_service("::1", 8000) == ""  # another user's program may listen there
        assert token_of_local_service("big.example", 8000) == ""
        (record,) = (tmp_path / "state" / "bigbatch" / "services").iterdir()
        assert stat.S_IMODE(record.stat().st_mode) == 0o600
    assert token_of_local_service("127.0.0.1", 8000) == ""


def test_a_record_of_a_service_that_was_killed_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces the fault: a service ends without its cleanup, so that another user can listen on its port."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    child = os.fork()
    if not child:
        with recorded_service("127.0.0.1", 8000, TOKEN):
            os._exit(0)
    os.waitpid(child, 0)
    (record,) = (tmp_path / "bigbatch" / "services").iterdir()
    assert record.read_text() == TOKEN
    assert token_of_local_service("127.0.0.1", 8000) == ""


def test_a_service_without_a_place_for_its_record_runs_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Forces the fault: a file is in the place of the folder."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with recorded_service("127.0.0.1", 8000, TOKEN):
        assert token_of_local_service("127.0.0.1", 8000) == ""
    assert "clients need BIGBATCH_TOKEN" in capfd.readouterr().err


def test_no_token_is_written_into_a_record_that_another_user_has_made(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The attack: XDG_STATE_HOME is in a folder that others can write, and the record's name is known."""
    with open_folder_of_tests() as folder:
        monkeypatch.setenv("XDG_STATE_HOME", str(folder))
        with recorded_service("127.0.0.1", 8000, TOKEN):
            (record,) = (folder / "bigbatch" / "services").iterdir()
        record.write_text("")
        os.chown(record, NOBODY, NOBODY)
        with recorded_service("127.0.0.1", 8000, TOKEN):
            assert record.read_text() == ""
        assert "(the file belongs to another user)" in capfd.readouterr().err
        os.chown(record, 0, 0)
        record.chmod(0o666)
        with recorded_service("127.0.0.1", 8000, TOKEN):
            assert (record.read_text(), record.stat().st_mode & 0o777) == (TOKEN, 0o600)


@pytest.mark.ring("gate")
def test_a_client_finds_the_address_of_the_service_that_runs_on_its_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("BIGBATCH_URL", "BIGBATCH_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("BIGBATCH_HOME", str(tmp_path))
    with recorded_address(tmp_path, "0.0.0.0", 8123):
        assert Client().url == "http://127.0.0.1:8123"
        assert Client("http://other:1").url == "http://other:1"
        monkeypatch.setattr("contract.access.service_record.LOCK_WAIT_S", 0.0)
        with recorded_address(tmp_path, "127.0.0.1", 9):  # a second process of the API has no address of its own
            assert Client().url == "http://127.0.0.1:8123"
        monkeypatch.setenv("BIGBATCH_URL", "http://other:2")
        assert Client().url == "http://other:2"
        monkeypatch.delenv("BIGBATCH_URL")
        monkeypatch.setattr("socket.gethostname", lambda: "elsewhere")
        assert address_of_home(str(tmp_path)) == ""
    assert Client().url == "http://127.0.0.1:8000"
    with recorded_address(tmp_path / "absent" / "home", "::1", 8124):
        assert address_of_home(str(tmp_path / "absent" / "home")) == "http://[::1]:8124"


@pytest.mark.ring("gate")
def test_the_address_of_a_service_that_was_killed_or_of_another_user_is_ignored(tmp_path: Path) -> None:
    """Forces both faults: an end without cleanup, and a file by which another user would get the token."""
    child = os.fork()
    if not child:
        with recorded_address(tmp_path, "127.0.0.1", 8123):
            os._exit(0)
    os.waitpid(child, 0)
    assert "8123" in (tmp_path / "address").read_text()
    assert address_of_home(str(tmp_path)) == ""
    with recorded_address(tmp_path, "127.0.0.1", 8123):
        assert address_of_home(str(tmp_path)) == "http://127.0.0.1:8123"
        os.chown(tmp_path / "address", NOBODY, NOBODY)
        assert address_of_home(str(tmp_path)) == ""
