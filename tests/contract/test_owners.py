"""Owners: who may put files into the folders from which the service executes programs."""

import grp
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.access import owners
from contract.access.owners import OURS, Owners, UnsafeFolderError
from contract.access.service_folders import prepare_folders
from contract.settings import Settings
from tests.testing.other_user import NOBODY, open_folder_of_tests, run_as_other_user

PLANT = """
import os, sys
os.makedirs(os.path.dirname(sys.argv[1]), exist_ok=True)
open(sys.argv[1], "w").write("planted")
"""
ME = pwd.getpwuid(os.geteuid()).pw_name


@pytest.fixture
def folder() -> Iterator[Path]:
    with open_folder_of_tests() as path:
        yield path


def make(folder: Path, mode: int = 0o755, owner: int = -1, group: int = -1) -> Path:
    folder.mkdir()
    os.chown(folder, owner, group)
    folder.chmod(mode)
    return folder


def accounts(monkeypatch: pytest.MonkeyPatch, members: list[str], name: str = "team", primary: str = "") -> int:
    """Let the group 4242 have these members, and this user as one whose primary group it is."""
    found, group = pwd.getpwall(), grp.struct_group((name, "x", 4242, members))
    if primary:
        found = [*found, pwd.struct_passwd((primary, "x", 4243, 4242, "", "/", "/bin/sh"))]
    before = grp.getgrgid
    monkeypatch.setattr(grp, "getgrgid", lambda number: group if number == 4242 else before(number))
    monkeypatch.setattr(pwd, "getpwall", lambda: found)
    owners._is_own.cache_clear()
    return 4242


def test_a_folder_of_another_user_is_refused_and_so_is_one_below_it(folder: Path) -> None:
    place = make(make(folder / "theirs", owner=NOBODY) / "ours")
    for path in (folder / "theirs", place, place / "not there yet"):
        with pytest.raises(UnsafeFolderError, match=r"/theirs belongs to the user nobody$"):
            OURS.check(path)


def test_a_folder_that_every_user_can_write_is_refused_and_above_ours_the_sticky_bit_suffices(folder: Path) -> None:
    place = make(make(folder / "open", 0o777) / "ours")
    with pytest.raises(UnsafeFolderError, match=r"/open can be written by every user: run chmod o-w on it$"):
        OURS.check(place)
    (folder / "open").chmod(0o1777)
    OURS.check(place)
    with pytest.raises(UnsafeFolderError, match="written by every user"):
        OURS.check(folder / "open")


def test_a_link_that_another_user_made_or_that_leads_to_their_folder_is_refused(folder: Path) -> None:
    make(folder / "open", 0o1777)
    make(folder / "ours")
    run_as_other_user("import os, sys; os.symlink(*sys.argv[1:])", folder / "ours", folder / "open" / "link")
    with pytest.raises(UnsafeFolderError, match="/open/link belongs to the user nobody"):
        OURS.check(folder / "open" / "link")
    make(folder / "theirs", owner=NOBODY)
    (folder / "ours" / "link").symlink_to("../theirs")
    with pytest.raises(UnsafeFolderError, match="/theirs belongs to the user nobody"):
        OURS.check(folder / "ours" / "link" / "runs")


@pytest.mark.parametrize(
    ("members", "name", "primary", "is_refused"),
    [
        ([], ME, "", False),  # a user private group
        ([ME], "team", "", False),
        ([ME, "nobody"], "team", "", True),
        ([], ME, "eve", True),
        ([], "team", "", True),  # a directory service may not list those whose primary group it is
    ],
)
def test_a_group_may_write_if_it_has_no_other_member_than_the_user(
    folder: Path, monkeypatch: pytest.MonkeyPatch, members: list[str], name: str, primary: str, is_refused: bool
) -> None:
    place = make(folder / "shared", 0o775, group=accounts(monkeypatch, members, name, primary))
    if is_refused:
        with pytest.raises(UnsafeFolderError, match=f"can be written by the group {name}: run chmod g-w on it"):
            OURS.check(place)
    else:
        OURS.check(place)


def test_the_accounts_are_listed_once_for_many_folders_of_a_group_and_again_later(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces a directory service that takes seconds to list its accounts, and a tree of folders of one group."""
    group, asked = accounts(monkeypatch, [], ME), list[int]()
    places, listed = [make(folder / str(number), 0o775, group=group) for number in range(3)], pwd.getpwall()
    monkeypatch.setattr(pwd, "getpwall", lambda: asked.append(1) or listed)
    for place in places:
        OURS.check(place)
    assert len(asked) == 1
    monkeypatch.setattr(owners, "KNOWN_S", owners.KNOWN_S / 1e6)
    OURS.check(places[0])
    assert len(asked) == 2


def test_the_accounts_are_not_listed_for_a_group_that_is_not_the_users(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make(folder / "shared", 0o775, group=accounts(monkeypatch, [], "team"))
    monkeypatch.setattr(pwd, "getpwall", lambda: pytest.fail("the accounts are listed"))
    with pytest.raises(UnsafeFolderError, match="the group team"):
        OURS.check(place)


def test_an_access_control_list_counts(folder: Path) -> None:
    place = make(folder / "listed")
    if not shutil.which("setfacl") or subprocess.run(["setfacl", "-m", "u:nobody:rwx", str(place)]).returncode:
        pytest.skip("needs setfacl and a file system with access control lists")
    with pytest.raises(UnsafeFolderError, match="can be written by the user nobody: run setfacl -x u:nobody on it"):
        OURS.check(place)
    Owners.of(["nobody"]).check(place)


def test_whom_the_setting_names_may_own_and_write(folder: Path) -> None:
    place = make(folder / "theirs", 0o775, owner=NOBODY, group=NOBODY)
    Owners.of(["nobody", f"@{grp.getgrgid(NOBODY).gr_name}"]).check(place)
    Owners.of([str(NOBODY), f"@{NOBODY}"]).check(place)
    with pytest.raises(UnsafeFolderError, match="written by the group"):
        Owners.of(["nobody"]).check(place)
    place.chmod(0o777)
    Owners.of(["*"]).check(place)
    with pytest.raises(ValueError, match="there is no user no-such-user on this machine"):
        Owners.of(["no-such-user"])


@pytest.mark.parametrize("name", [".tools", ".code", "arrays", ".snapshots"])
def test_what_another_user_left_in_the_folder_of_the_runs_is_found_though_the_folder_is_closed_now(
    folder: Path, name: str
) -> None:
    runs = make(folder / "runs", 0o777)
    run_as_other_user(PLANT, runs / name / "x")
    runs.chmod(0o755)
    with pytest.raises(UnsafeFolderError, match=rf"/{name} belongs to the user nobody; else set BIGBATCH_"):
        prepare_folders(Settings(home=folder / "home", runs=runs))


def test_folders_that_the_service_makes_are_its_own_whatever_the_umask(folder: Path) -> None:
    os.umask(0)
    settings = Settings(home=folder / "a" / "home", runs=folder / "b" / "c" / "runs")
    prepare_folders(settings)
    assert settings.home_folder().stat().st_mode & 0o777 == 0o700
    modes = {path.name: path.stat().st_mode & 0o022 for path in (folder / "b", folder / "b" / "c", folder / "b/c/runs")}
    assert modes == {"b": 0, "c": 0, "runs": 0}
