"""`bigbatch backup` and `bigbatch restore`: copy a home, and make a home of the copy."""

from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from bigbatch.commands.options import Home
from bigbatch.errors import BigbatchError
from bigbatch.service.backup import make_backup, restore_backup
from bigbatch.terminal.units import format_bytes
from contract.settings import Settings, setting_errors
from contract.user_home import expand_user

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of the backup.")]


def backup(folder: Folder, home: Home = None) -> None:
    """Copy the home into the new folder FOLDER: database, runs, snapshots, token; also while the service runs."""
    settings = _settings()
    if settings.database:
        raise BigbatchError("the database is not in the home: use pg_dump and tar, as docs/operations.md shows")
    place = _whole(home or settings.home_folder())
    size = make_backup(place, _whole(folder))
    print(
        f"backup of '{place}' in '{folder}': {format_bytes(size)}; only you may read it, because it contains the token"
    )
    if settings.runs and not settings.runs_folder().is_relative_to(place):
        print(f"BIGBATCH_RUNS is outside the home: back up '{settings.runs_folder()}' as well")


def restore(
    folder: Folder, home: Annotated[Path, typer.Option(help="The new home; a folder that is absent or empty.")]
) -> None:
    """Make a home of the backup in FOLDER."""
    place = _whole(home)
    restore_backup(_whole(folder), place)
    print(f"restored; when the earlier service is gone for good: bigbatch up --home {home}")


def _whole(path: Path) -> Path:
    return expand_user(path, "the whole path").absolute()


def _settings() -> Settings:
    try:
        return Settings()
    except ValidationError as error:
        raise BigbatchError(setting_errors(error)) from error
