"""The files of the database behind slurmdbd, made once per state folder."""

import shutil
from pathlib import Path

from lab import processes
from lab.command import run
from lab.state_folder import Folder


def make(folder: Folder) -> None:
    """Create the database's files if there are none, all or nothing."""
    if folder.database.exists():
        return
    stop_making(folder)
    half_made = _half_made(folder)
    shutil.rmtree(half_made, ignore_errors=True)
    configuration = f"--defaults-file={folder.root}/mariadb.conf"
    run("mariadb-install-db", configuration, f"--datadir={half_made}", "--user=mysql", "--skip-test-db")
    half_made.rename(folder.database)


def stop_making(folder: Folder) -> None:
    """Stop the making that an `up` which was killed has left behind: it goes on without its parent."""
    makers = processes.saying(f"--datadir={_half_made(folder)}")
    processes.stop([maker.pid for maker in makers], patience_s=2)


def _half_made(folder: Folder) -> Path:
    return folder.root / "database.new"
