"""What the folder of a run shows to other users: one setting, private by default."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.access.service_folders import prepare_folders
from contract.access.visibility import Visibility
from contract.folder.array_folder import ArrayFolder
from contract.folder.run_folder import RunFolder
from contract.settings import Settings
from tests.testing.other_user import NOBODY, open_folder_of_tests, run_as_other_user

READ = "import sys; print(open(sys.argv[1]).read())"
LIST = "import os, sys; print(os.listdir(sys.argv[1]))"
SECRET = "s3cret-of-this-test"
SPEC = {"kind": "program", "environment": {"variables": {"TOKEN": SECRET}}}


@pytest.fixture
def folder() -> Iterator[Path]:
    with open_folder_of_tests() as path:
        yield path


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def is_readable(path: Path) -> bool:
    """Return whether the other user can read a file, or the names in a folder."""
    try:
        run_as_other_user(LIST if path.is_dir() else READ, path)
    except Exception:
        return False
    return True


@pytest.mark.parametrize(
    ("visibility", "bits", "is_shown"),
    [(Visibility.PRIVATE, 0o700, False), (Visibility.GROUP, 0o750, True), (Visibility.PUBLIC, 0o755, True)],
)
@pytest.mark.parametrize("umask", [0o022, 0o002, 0o000])
def test_the_setting_bounds_what_others_see_of_runs_and_arrays(
    folder: Path, visibility: Visibility, bits: int, is_shown: bool, umask: int
) -> None:
    os.umask(umask)
    runs = folder / "runs"
    prepare_folders(Settings(home=folder / "home", runs=runs, run_folders=visibility))
    run, array = RunFolder.of(runs, 1, "cafe"), ArrayFolder.of(runs, "bigbatch-1")
    run.prepare(SPEC, 1, visibility)
    array.link_runs({0: run}, visibility)
    (run.path / "work").mkdir()
    (run.path / "work" / "of-the-program").write_text(SECRET)
    assert [mode(path) for path in (runs, run.path, array.path.parent)] == [bits] * 3
    if visibility is Visibility.GROUP:
        for path in (runs, run.path, array.path.parent):
            os.chown(path, 0, NOBODY)
    files = (run.path / "spec.json", run.path / "work" / "of-the-program", array.path, runs)
    assert [is_readable(path) for path in files] == [is_shown] * 4


def test_a_group_is_shown_nothing_that_is_not_its_own(folder: Path) -> None:
    run = RunFolder.of(folder, 1, "cafe")
    run.prepare(SPEC, 1, Visibility.GROUP)
    assert not is_readable(run.path / "spec.json")


def test_a_further_attempt_closes_the_folder_of_an_earlier_version(folder: Path) -> None:
    run = RunFolder.of(folder, 1, "cafe")
    run.prepare(SPEC, 1, Visibility.PUBLIC)
    assert is_readable(run.path / "spec.json")
    run.prepare(SPEC, 2)
    assert not is_readable(run.path / "spec.json")


@pytest.mark.parametrize("name", ["000001-cafe", "of a colleague"])
def test_the_start_closes_a_folder_of_older_runs_that_has_nothing_else(folder: Path, name: str) -> None:
    runs = folder / "runs"
    for place in (runs, runs / ".tools", runs / "arrays", runs / name):
        place.mkdir()
    prepare_folders(Settings(home=folder / "home", runs=runs))
    assert mode(runs) == (0o700 if name == "000001-cafe" else 0o755)


def test_runs_have_the_group_of_a_folder_that_passes_its_group_on(folder: Path) -> None:
    os.chown(folder, 0, NOBODY)
    folder.chmod(0o2755)
    run = RunFolder.of(folder / "runs", 1, "cafe")
    run.prepare(SPEC, 1, Visibility.GROUP)
    assert (run.path.stat().st_gid, (run.path / "spec.json").stat().st_gid) == (NOBODY, NOBODY)
    folder.chmod(0o755)
