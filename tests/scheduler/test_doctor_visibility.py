"""What the doctor says of BIGBATCH_RUN_FOLDERS is what another user can do."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.access.service_folders import prepare_folders
from contract.access.visibility import Visibility
from contract.api.site_check import Grade
from contract.folder.array_folder import ArrayFolder
from contract.folder.run_folder import RunFolder
from contract.settings import Settings
from scheduler.doctor.visibility import check_visibility
from tests.testing.other_user import NOBODY, open_folder_of_tests, run_as_other_user

READ = "import sys; print(open(sys.argv[1]).read())"


@pytest.fixture
def folder() -> Iterator[Path]:
    with open_folder_of_tests() as path:
        yield path


def start(folder: Path, visibility: Visibility, runs: str = "runs") -> Settings:
    """Start the service with the setting."""
    settings = Settings(home=folder / "home", runs=folder / runs, run_folders=visibility)
    prepare_folders(settings)
    return settings


def can_read(settings: Settings) -> bool:
    """Return whether the other user, who has the group of the runs, can read the spec of a new run."""
    run = RunFolder.of(settings.runs_folder(), 1, "cafe")
    run.prepare({}, 1, settings.run_folders)
    for path in (settings.runs_folder(), run.path):
        os.chown(path, -1, NOBODY)
    try:
        run_as_other_user(READ, run.path / "spec.json")
    except Exception:
        return False
    return True


@pytest.mark.parametrize(("visibility", "bits"), [(Visibility.GROUP, "g+rx"), (Visibility.PUBLIC, "go+rx")])
def test_a_folder_of_a_private_start_is_named_with_the_chmod_that_opens_it(
    folder: Path, visibility: Visibility, bits: str
) -> None:
    start(folder, Visibility.PRIVATE)
    settings = start(folder, visibility)
    runs = settings.runs_folder()
    check = check_visibility(settings)
    assert (check.grade, can_read(settings)) == (Grade.WARNING, False)
    assert f"{runs} has mode 0700" in check.found
    assert check.advice == f"run chmod {bits} on {runs}"
    runs.chmod(visibility.mode)
    assert (check_visibility(settings).grade, can_read(settings)) == (Grade.OK, True)


def test_a_closed_folder_above_is_named(folder: Path) -> None:
    (folder / "closed").mkdir(0o700)
    settings = start(folder, Visibility.PUBLIC, "closed/runs")
    check = check_visibility(settings)
    assert (check.grade, can_read(settings)) == (Grade.WARNING, False)
    assert check.advice.startswith(f"run chmod go+x on {folder / 'closed'}")
    (folder / "closed").chmod(0o711)
    assert (check_visibility(settings).grade, can_read(settings)) == (Grade.OK, True)


def test_a_closed_folder_of_arrays_is_named(folder: Path) -> None:
    settings = start(folder, Visibility.GROUP)
    array = ArrayFolder.of(settings.runs_folder(), "bigbatch-1")
    array.link_runs({})
    check = check_visibility(settings)
    assert check.advice == f"run chmod g+rx on {array.path.parent}"


def test_the_group_that_can_look_in_is_named(folder: Path) -> None:
    settings = start(folder, Visibility.GROUP)
    os.chown(settings.runs_folder(), -1, NOBODY)
    check = check_visibility(settings)
    assert (check.grade, check.found) == (Grade.OK, "group nogroup")


def test_a_umask_or_home_that_hides_the_files_is_named(folder: Path) -> None:
    settings = start(folder, Visibility.GROUP)
    os.umask(0o077)
    assert "the umask 077 takes 050 from files" in check_visibility(settings).found
    inside = Settings(home=folder / "home", run_folders=Visibility.GROUP)
    assert check_visibility(inside).advice == "set BIGBATCH_RUNS to a folder outside"
