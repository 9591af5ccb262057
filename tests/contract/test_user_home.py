"""A user id without an entry in the password database and without HOME: messages say what to set."""

import os
import pwd
from pathlib import Path

import pytest

from bigbatch.cli import main
from bigbatch.connection import _user_header
from bigbatch.snapshot.hash_cache import cache_folder
from bigbatch.snapshot.plain_tree import list_files
from contract.access.service_record import recorded_service, token_of_local_service
from contract.process_settings import read_process_settings
from contract.refusal import REFUSED
from contract.settings import Settings
from contract.user_home import NoHomeError, expand_user, name_account, settle_account, user_name

pytestmark = pytest.mark.ring("quick")


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Be a user of a container that has no name and no home."""

    def unknown(_: object) -> None:
        raise KeyError("no entry")

    for variable in ("HOME", "LOGNAME", "USER", "LNAME", "USERNAME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    for variable in ("BIGBATCH_HOME", "BIGBATCH_RUNS", "BIGBATCH_CACHE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.setattr(pwd, "getpwnam", unknown)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("~/runs", r"has no entry in the password database and HOME is not set.*set HOME or BIGBATCH_RUNS"),
        ("~ada/runs", "there is no user ada.*set BIGBATCH_RUNS"),
    ],
)
def test_a_home_that_is_not_known_is_named_with_what_to_set(path: str, message: str) -> None:
    with pytest.raises(NoHomeError, match=message):
        Settings(home=Path("/srv/bigbatch"), runs=Path(path)).runs_folder()


def test_a_process_of_the_service_ends_with_the_message() -> None:
    with pytest.raises(SystemExit, match=str(REFUSED)):
        read_process_settings()


@pytest.mark.parametrize("words", [["up"], ["backup", "copy"]])
def test_the_command_prints_the_message(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(words)
    printed = capsys.readouterr()
    assert "HOME is not set" in printed.err + printed.out
    assert "BIGBATCH_DEBUG" not in printed.err + printed.out


def test_what_can_do_without_a_home_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (user_name(), _user_header()) == (None, {})
    assert expand_user(tmp_path, "BIGBATCH_HOME") == tmp_path
    assert token_of_local_service("localhost", 8000) == ""
    with recorded_service("localhost", 8000, "secret"):
        assert "clients need BIGBATCH_TOKEN" in capsys.readouterr().err
    (tmp_path / "train.py").touch()
    assert list_files(tmp_path) == ["train.py"]


def test_with_a_home_of_the_service_caches_and_records_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for variable in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "LOGNAME"):
        monkeypatch.setenv(variable, "taken away below, and put back after the test")
        monkeypatch.delenv(variable)
    settle_account(tmp_path)
    name_account()
    assert Settings().cache_folder() == tmp_path / ".cache" / "bigbatch"
    assert cache_folder().is_relative_to(tmp_path)
    with recorded_service("localhost", 8000, "secret"):
        assert capsys.readouterr().err == ""
        assert token_of_local_service("localhost", 8000) == "secret"
    assert user_name() == str(os.getuid())


def test_a_user_with_a_home_keeps_its_own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "own"))
    settle_account(tmp_path)
    assert Settings().cache_folder() == tmp_path / "own" / ".cache" / "bigbatch"
