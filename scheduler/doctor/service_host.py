"""Checks without a cluster: the folder of the runs, free space, the database, the broker."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex

import psutil
from sqlalchemy import text
from sqlalchemy.engine import make_url

from contract.access.owners import UnsafeFolderError
from contract.access.service_folders import advice_on, folders_of
from contract.api.site_check import Check, Grade, failed_check, passed_check
from contract.folder.run_folder import RunFolder
from contract.private_files import make_folder
from contract.settings import Settings
from contract.shown_address import shown_address
from scheduler.broker import broker_problem
from scheduler.doctor.visibility import check_visibility
from store.database_state import no_answer, read_only_problem
from store.session import engine_for, snapshot

MIN_FREE_BYTES, LOW_SHARE = 1 << 30, 0.05
REMOTE = {"nfs", "nfs4", "lustre", "gpfs", "beegfs", "cifs", "smb3", "ceph", "fuse.sshfs", "9p", "afs"}
MAX_CLOCK_SKEW_S = 5.0
CONTENTS = {  # the content of each folder
    "runs": "checkpoints, curves and logs",
    "home": "the service's own files",
    "cache": "generated data sets",
}


def check_folders(settings: Settings) -> Iterator[Check]:
    """Yield the results for the folders of runs, service files and data sets."""
    runs = settings.runs_folder()
    yield check_owners(settings)
    yield check_visibility(settings)
    try:
        make_folder(runs, settings.run_folders.mode)
        claimed = _claim_is_exclusive(runs)
    except OSError as error:
        means, advice = "no run can be submitted", "set BIGBATCH_RUNS to a folder that the worker can write"
        yield failed_check("folder", "runs", Grade.ERROR, found=f"{runs}: {error}", means=means, advice=advice)
        return
    if claimed:
        found = f"{runs} on {_file_system_of(runs) or 'an unknown file system'}"
        yield passed_check("folder", "runs", found, "runs can be submitted, and only one of two jobs can claim a run")
    else:
        found, means = f"two jobs can claim the same attempt in {runs}", "a run that is submitted twice trains twice"
        advice = "set BIGBATCH_RUNS to a folder on a file system with hard links"
        yield failed_check("folder", "runs", Grade.ERROR, found=found, means=means, advice=advice)
    for name, path in (("runs", runs), ("home", settings.home_folder()), ("cache", settings.cache_folder())):
        yield _check_space(name, path)


def check_owners(settings: Settings) -> Check:
    """Return whether nobody else can put files where the service finds the programs that it executes."""
    owners, found = settings.owners(), dict[str, str]()  # what is wrong, and the setting that names the folder
    for folder, setting in folders_of(settings):
        try:
            owners.check(folder)
        except UnsafeFolderError as error:
            found.setdefault(str(error), setting)
        except OSError as error:
            found.setdefault(f"{folder} cannot be examined: {error.strerror}", setting)
    if not found:
        shown = f"{settings.home_folder()} and {settings.runs_folder()}"
        return passed_check("folder", "owners", shown, "nobody else can put files where the service finds programs")
    means = "other users could let the service execute their programs, so the service does not start"
    advice = f"make them your own, {advice_on(next(iter(found.values())))}"
    return failed_check("folder", "owners", Grade.ERROR, found="; ".join(found), means=means, advice=advice)


def check_database(settings: Settings) -> Iterator[Check]:
    """Yield the results for the database: whether it answers, and whether its clock agrees with this machine's."""
    url = make_url(settings.database_url())
    shown = shown_address(settings.database_url())
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").exists():
        found, means = f"{shown} is not there yet", "the service creates the database at its start"
        advice = "start the service with bigbatch up, or set BIGBATCH_DATABASE to its database"
        yield failed_check("database", "database", Grade.NOTE, found=found, means=means, advice=advice)
        return
    if url.get_backend_name() == "sqlite" and (kind := _file_system_of(Path(url.database or ""))) in REMOTE:
        means = "SQLite's locks do not work on a network file system, so the database may be damaged"
        found, advice = f"{shown} on {kind}", "set BIGBATCH_DATABASE to a PostgreSQL URL: postgresql://..."
        yield failed_check("database", "file system", Grade.ERROR, found=found, means=means, advice=advice)
    if (silent := no_answer(settings.database_url())) is not None:
        advice = "start the database, or set BIGBATCH_DATABASE to another"
        means = "the service does not work without its database"
        yield failed_check("database", "database", Grade.ERROR, found=silent, means=means, advice=advice)
        return
    yield _check_answer(settings.database_url(), shown)


def check_broker(settings: Settings) -> Check:
    """Return whether the clock's messages can reach the workers."""
    if not settings.broker:
        folder = settings.home_folder() / "broker"
        found = f"a file broker in {folder}"
        if folder.exists() and not os.access(folder, os.W_OK):
            found, means = f"{found}, not writable", "workers get no messages, so no run progresses"
            advice = f"make {folder} writable for the worker (chown), or set BIGBATCH_HOME to a writable folder"
            return failed_check("broker", "broker", Grade.ERROR, found=found, means=means, advice=advice)
        means = "clock and workers must run on this machine; workers on other machines need BIGBATCH_BROKER=redis://"
        return passed_check("broker", "broker", found, means)
    if (silent := broker_problem(settings.broker)) is not None:
        means, advice = (
            "workers get no messages, so no run progresses",
            "start Redis, or set BIGBATCH_BROKER to another",
        )
        return failed_check("broker", "broker", Grade.ERROR, found=silent, means=means, advice=advice)
    found = f"{shown_address(settings.broker)} answers"
    return passed_check("broker", "broker", found, "the clock's messages reach workers on any machine")


def _check_answer(url: str, shown: str) -> Check:
    began = time.monotonic()
    with snapshot(engine_for(url)) as db:
        db.execute(text("select 1"))
        took_s = time.monotonic() - began
        read_only = read_only_problem(db.connection())
        is_remote = db.get_bind().dialect.name != "sqlite"
        skew_s = (
            float(db.scalar(text("select extract(epoch from clock_timestamp())")) or 0) - time.time()
            if is_remote
            else 0.0
        )
    if read_only:
        advice = "make it writable, or set BIGBATCH_DATABASE to the primary server"
        means = "nothing that runs do can be stored"
        return failed_check("database", "database", Grade.ERROR, found=read_only, means=means, advice=advice)
    found = f"{shown} answers in {1000 * took_s:.0f} ms"
    if abs(skew_s) < MAX_CLOCK_SKEW_S:
        return passed_check("database", "database", found, "the results of runs can be stored and shown")
    found += f", its clock {abs(skew_s):.0f} s {'ahead' if skew_s > 0 else 'behind'}"
    means = "pages show times of two clocks; no decision of the service depends on equal clocks"
    advice = "run chrony or ntpd on both hosts"
    return failed_check("database", "database", Grade.WARNING, found=found, means=means, advice=advice)


def _claim_is_exclusive(runs: Path) -> bool:
    """Return whether exactly one of two jobs can claim an attempt."""
    folder = runs / f".doctor-{token_hex(4)}"
    try:
        (folder / "attempts").mkdir(parents=True)
        return {RunFolder(folder).claim(1, job) for job in ("one", "other")} == {"one"}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _check_space(name: str, path: Path) -> Check:
    existing = next(parent for parent in (path, *path.parents) if parent.exists())
    disk, files = shutil.disk_usage(existing), os.statvfs(existing)
    share = min(disk.free / disk.total, files.f_favail / files.f_files if files.f_files else 1.0)
    found = f"{disk.free / 1e9:.1f} GB free of {disk.total / 1e9:.1f}"
    found += f", {files.f_favail:,} files" if files.f_files else ""
    found += f" at {existing}"
    advice = f"free space there, or set BIGBATCH_{name.upper()} to a folder with more space"
    if disk.free < MIN_FREE_BYTES:
        means = "runs fail if they cannot write a checkpoint or an event"
        return failed_check("space", name, Grade.ERROR, found=found, means=means, advice=advice)
    if share < LOW_SHARE:
        means = f"{CONTENTS[name]} may soon fill the disk, and runs then fail"
        return failed_check("space", name, Grade.WARNING, found=found, means=means, advice=advice)
    return passed_check("space", name, found, f"enough space for {CONTENTS[name]}")


def _file_system_of(path: Path) -> str:
    """Return the type of the file system that contains `path`; empty if not known."""
    mounts = {part.mountpoint: part.fstype for part in psutil.disk_partitions(all=True)}
    return next((mounts[str(at)] for at in (path.resolve(), *path.resolve().parents) if str(at) in mounts), "")
