"""Private folders and files: other users have no permission, and folders that others use stay as they are."""

import os
import stat
from pathlib import Path

import pytest

from contract.private_files import make_private, make_private_file, make_private_folder

pytestmark = pytest.mark.ring("quick")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(autouse=True)
def _umask() -> object:
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_a_new_folder_and_a_new_file_are_private(tmp_path: Path) -> None:
    make_private_folder(tmp_path / "above" / "home")
    make_private_file(tmp_path / "above" / "home" / "file")
    assert mode(tmp_path / "above" / "home") == 0o700
    assert mode(tmp_path / "above" / "home" / "file") == 0o600


def test_an_existing_folder_and_file_are_tightened(tmp_path: Path) -> None:
    folder, file = tmp_path / "home", tmp_path / "home" / "file"
    folder.mkdir()
    folder.chmod(0o2775)
    file.write_text("content")
    file.chmod(0o664)
    make_private_folder(folder)
    make_private_file(file)
    assert mode(folder) == 0o2700
    assert mode(file) == 0o600
    assert file.read_text() == "content"


def test_what_is_private_or_absent_stays(tmp_path: Path) -> None:
    (tmp_path / "file").touch(0o400)
    make_private(tmp_path / "file")
    make_private(tmp_path / "absent")
    assert mode(tmp_path / "file") == 0o400
    assert not (tmp_path / "absent").exists()


@pytest.mark.parametrize("name", ["shared", "user", "."], ids=["sticky", "the user's home", "above the user's home"])
def test_a_folder_of_others_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    for folder, permissions in (("user", 0o755), ("shared", 0o1777), (".", 0o755)):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder).chmod(permissions)
    before = mode(tmp_path / name)
    make_private_folder(tmp_path / name)
    assert mode(tmp_path / name) == before
