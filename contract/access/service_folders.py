"""The folders of the service at the start of its processes: made, and refused if others can put files into them."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from contract.access.owners import UnsafeFolderError
from contract.access.visibility import Visibility
from contract.private_files import make_folder, make_private, make_private_folder
from contract.settings import Settings
from contract.snapshot.code_tree import CODE

TOOLS = ".tools"
ARRAYS = "arrays"
OF_SERVICE = re.compile(rf"[0-9]{{6,}}-[0-9a-f]+$|{ARRAYS}$|\.")  # names in the folder of the run folders


def prepare_home(settings: Settings) -> None:
    """Make the home folder; raise UnsafeFolderError if others can put files into it."""
    with suppress(OSError):  # what needs the folder says so: with PostgreSQL and Redis nothing may
        make_private_folder(settings.home_folder())
    _check(settings, settings.home_folder(), "BIGBATCH_HOME or --home")


def prepare_folders(settings: Settings) -> None:
    """Make the home and the folder of the run folders; raise UnsafeFolderError if others can put files into them."""
    prepare_home(settings)
    with suppress(OSError):  # a file server that is away is no danger: the submissions wait for it
        _make_runs_folder(settings.runs_folder(), settings.run_folders)
    for folder, setting in folders_of(settings):
        _check(settings, folder, setting)


def _make_runs_folder(runs: Path, visibility: Visibility) -> None:
    """Make the folder of the run folders, or close an existing one that has nothing else: it closes older runs too."""
    make_folder(runs, visibility.mode)
    if all(OF_SERVICE.match(name) for name in os.listdir(runs)):
        make_private(runs, denied=0o777 & ~visibility.mode)


def folders_of(settings: Settings) -> Iterator[tuple[Path, str]]:
    """Yield the folders from which the service takes programs, each with the setting that says where it is."""
    runs = settings.runs_folder()
    yield settings.home_folder(), "BIGBATCH_HOME or --home"
    for folder in (runs, runs / TOOLS, runs / CODE, runs / ARRAYS):
        yield folder, "BIGBATCH_RUNS"
    yield settings.snapshots_folder(), "BIGBATCH_SNAPSHOTS"


def _check(settings: Settings, folder: Path, setting: str) -> None:
    try:
        settings.owners().check(folder)
    except UnsafeFolderError as error:
        raise UnsafeFolderError(f"{error}; {advice_on(setting)}, because others could run programs as you") from error
    except OSError:  # the file server is away
        return


def advice_on(setting: str) -> str:
    """Return what to do about a folder into which others can put files."""
    return f"else set {setting} to a folder of yours, or BIGBATCH_TRUSTED to those who may do so"
