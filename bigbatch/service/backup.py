"""Backups of a home folder: its database as one consistent file, and an archive of all its other files."""

import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from bigbatch.errors import BigbatchError
from bigbatch.terminal.message import print_message
from contract.settings import RESTORED

DATABASE, ARCHIVE = "bigbatch.db", "files.tar"
# the database is copied by itself, and a broker's messages and a lock are of the service that runs now
EXCLUDED = (f"./{DATABASE}*", "./broker*", "./up.lock", "./address", f"./{RESTORED}")
EXPECTED = ("file changed as we read it", "File removed before we read it", "socket ignored")  # of runs that train


def make_backup(home: Path, folder: Path) -> int:
    """Write a backup of `home` into the new folder `folder`, also while the service runs; return its size in bytes.

    The database first: then the archive may have newer events than the database, which a service reads again.
    """
    if not (home / DATABASE).is_file():
        raise BigbatchError(f"'{home}' is not the home of a service: it has no {DATABASE}; name the home by --home")
    if folder.resolve().is_relative_to(home.resolve()):
        raise BigbatchError(f"'{folder}' is inside the home '{home}', which the backup would contain")
    _make_new(folder)
    with closing(sqlite3.connect(home / DATABASE)) as database:
        database.execute("VACUUM INTO ?", [str(folder / DATABASE)])
    _tar("-C", str(home), "-cf", str(folder / ARCHIVE), *(f"--exclude={name}" for name in EXCLUDED), ".")
    for name in (DATABASE, ARCHIVE):
        (folder / name).chmod(0o600)  # both contain secrets
    return sum((folder / name).stat().st_size for name in (DATABASE, ARCHIVE))


def restore_backup(folder: Path, home: Path) -> None:
    """Make the new folder `home` of a backup."""
    if absent := [name for name in (DATABASE, ARCHIVE) if not (folder / name).is_file()]:
        raise BigbatchError(f"'{folder}' is not a backup: it has no {absent[0]}")
    _make_new(home)
    _tar("-C", str(home), "-xf", str(folder / ARCHIVE))
    shutil.copyfile(folder / DATABASE, home / DATABASE)
    (home / DATABASE).chmod(0o600)
    (home / RESTORED).touch(mode=0o600)  # the next start brings the database up to what was done since


def _make_new(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.listdir(folder):
            raise BigbatchError(f"'{folder}' is not empty: name a new folder")
        folder.chmod(0o700)
    except OSError as error:
        raise BigbatchError(f"'{folder}' cannot be written: {error.strerror}") from error


def _tar(*words: str) -> None:
    try:
        done = subprocess.run(["tar", *words], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    except FileNotFoundError as error:
        raise BigbatchError("a backup needs the command tar") from error
    for line in done.stderr.splitlines():
        if not any(text in line for text in EXPECTED):
            print_message(line)
    if done.returncode > 1:  # 1: a file changed while it was read
        raise BigbatchError(f"tar ended with status {done.returncode}, so the backup is not complete")
