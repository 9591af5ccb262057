"""The files of slurmdbd's database, created once per state folder; the account of the lab's user and its limit."""

import shutil
from getpass import getuser
from pathlib import Path

from lab import processes
from lab.command import run, succeeds
from lab.state_folder import StateFolder


def create(folder: StateFolder) -> None:
    """Create the database's files if there are none; a crash leaves no partial database."""
    if folder.database.exists():
        return
    stop_creation(folder)
    partial = _partial(folder)
    shutil.rmtree(partial, ignore_errors=True)
    configuration = f"--defaults-file={folder.root}/mariadb.conf"
    run("mariadb-install-db", configuration, f"--datadir={partial}", "--user=mysql", "--skip-test-db")
    partial.rename(folder.database)


def stop_creation(folder: StateFolder) -> None:
    """Stop the mariadb-install-db of a killed `up`, which continues without its parent process."""
    installers = processes.find_by_argument(f"--datadir={_partial(folder)}")
    processes.stop([installer.pid for installer in installers], patience_s=2)


def _partial(folder: StateFolder) -> Path:
    return folder.root / "database.new"


ACCOUNT, QOS = "lab", "normal"  # Slurm's own QOS, which every association has by default


def limit_submitted_jobs(folder: StateFolder, limit: int) -> None:
    """Give this user an association, and let the QOS admit so many of a user's jobs at once."""
    conf = str(folder.slurm_conf)
    # both commands fail where there is nothing to add
    succeeds("sacctmgr", "-i", "add", "account", ACCOUNT, slurm_conf=conf)
    succeeds("sacctmgr", "-i", "add", "user", getuser(), f"account={ACCOUNT}", slurm_conf=conf)
    run("sacctmgr", "-i", "modify", "qos", QOS, "set", f"MaxSubmitJobsPerUser={limit}", slurm_conf=conf)
