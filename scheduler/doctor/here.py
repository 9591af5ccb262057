"""What does not need a cluster: the folder of the runs, free space, the database, the broker."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex

import psutil
from kombu import Connection
from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from contract.doctor import Check, Grade
from contract.folder import RunFolder
from contract.settings import Settings
from store.session import engine_for, snapshot

LEAST_BYTES, LITTLE = 1 << 30, 0.05
REMOTE = {"nfs", "nfs4", "lustre", "gpfs", "beegfs", "cifs", "smb3", "ceph", "fuse.sshfs", "9p", "afs"}
SKEWED_S = 5.0


def folders(settings: Settings) -> Iterator[Check]:
    """Check where runs and data sets are kept."""
    runs = settings.runs_folder()
    try:
        runs.mkdir(parents=True, exist_ok=True)
        claimed = _claims_hold(runs)
    except OSError as error:
        yield _check("folder", "runs", Grade.ERROR, f"{runs}: {error}", "no run can be submitted", "BIGBATCH_RUNS")
        return
    if claimed:
        yield _check("folder", "runs", Grade.OK, f"{runs} on {_kind_of(runs) or 'an unknown file system'}")
    else:
        found, means = f"{runs} lets two claim the same", "a job that Slurm got twice would train twice"
        yield _check("folder", "runs", Grade.ERROR, found, means, "BIGBATCH_RUNS on a file system with hard links")
    for name, path in (("runs", runs), ("home", settings.home_folder()), ("cache", settings.cache_folder())):
        yield _space(name, path)


def database(settings: Settings) -> Iterator[Check]:
    """Check that the database answers, and whether its clock and ours agree."""
    url = make_url(settings.database_url())
    shown = url.render_as_string(hide_password=True)
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").exists():
        yield _check(
            "database", "database", Grade.NOTE, f"{shown} is not there yet", "the service makes it at its start"
        )
        return
    if url.get_backend_name() == "sqlite" and (kind := _kind_of(Path(url.database or ""))) in REMOTE:
        means = "SQLite's locks do not hold on a network's file system: the database may be damaged"
        yield _check(
            "database", "file system", Grade.ERROR, f"{shown} on {kind}", means, "BIGBATCH_DATABASE=postgresql://"
        )
    try:
        yield _answers(settings.database_url(), shown)
    except SQLAlchemyError as error:
        found = str(error).splitlines()[0]
        yield _check(
            "database", "database", Grade.ERROR, f"{shown}: {found}", "nothing works without it", "BIGBATCH_DATABASE"
        )


def broker(settings: Settings) -> Check:
    """Check that the clock's ticks can reach the workers."""
    if not settings.broker:
        folder = settings.home_folder() / "broker"
        found = f"a folder of files, {folder}"
        if folder.exists() and not os.access(folder, os.W_OK):
            return _check("broker", "broker", Grade.ERROR, f"{found}, not writable", "no tick reaches a worker")
        means = "clock and workers must be on this machine; with several, BIGBATCH_BROKER=redis://"
        return _check("broker", "broker", Grade.OK, found, means)
    try:
        with Connection(settings.broker, connect_timeout=5) as connection:
            connection.ensure_connection(max_retries=1, timeout=5)
            shown = connection.as_uri()  # without the password
    except Exception as error:  # whatever a transport raises
        told = f"{type(error).__name__}: {error}"
        return _check(
            "broker", "broker", Grade.ERROR, told, "no tick reaches a worker: nothing moves", "BIGBATCH_BROKER"
        )
    return _check("broker", "broker", Grade.OK, f"{shown} answers")


def _answers(url: str, shown: str) -> Check:
    began = time.monotonic()
    with snapshot(engine_for(url)) as db:
        db.execute(text("select 1"))
        took_s = time.monotonic() - began
        is_remote = db.get_bind().dialect.name != "sqlite"
        skew_s = (
            float(db.scalar(text("select extract(epoch from clock_timestamp())")) or 0) - time.time()
            if is_remote
            else 0.0
        )
    found = f"{shown} answers in {1000 * took_s:.0f} ms"
    if abs(skew_s) < SKEWED_S:
        return _check("database", "database", Grade.OK, found)
    found += f", its clock {abs(skew_s):.0f} s {'ahead' if skew_s > 0 else 'behind'}"
    means = "times on pages are of two clocks; no decision needs clocks that agree"
    return _check("database", "database", Grade.WARNING, found, means, "chrony or ntpd on both")


def _claims_hold(runs: Path) -> bool:
    """Whether of two that claim one attempt exactly one gets it."""
    folder = runs / f".doctor-{token_hex(4)}"
    try:
        (folder / "attempts").mkdir(parents=True)
        return {RunFolder(folder).claim(1, job) for job in ("one", "other")} == {"one"}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _space(name: str, path: Path) -> Check:
    there = next(parent for parent in (path, *path.parents) if parent.exists())
    disk, files = shutil.disk_usage(there), os.statvfs(there)
    share = min(disk.free / disk.total, files.f_favail / files.f_files if files.f_files else 1.0)
    found = f"{disk.free / 1e9:.1f} GB free of {disk.total / 1e9:.1f}"
    found += f", {files.f_favail:,} files" if files.f_files else ""
    if disk.free < LEAST_BYTES:
        means = "runs fail when they can write no checkpoint, and then no line"
        return _check(
            "space", name, Grade.ERROR, f"{found} at {there}", means, "clear up, or set BIGBATCH_RUNS, HOME or CACHE"
        )
    return _check("space", name, Grade.WARNING if share < LITTLE else Grade.OK, f"{found} at {there}")


def _kind_of(path: Path) -> str:
    """The kind of file system that a path is on."""
    mounts = {part.mountpoint: part.fstype for part in psutil.disk_partitions(all=True)}
    return next((mounts[str(at)] for at in (path.resolve(), *path.resolve().parents) if str(at) in mounts), "")


def _check(area: str, name: str, grade: Grade, found: str, means: str = "", advice: str = "") -> Check:
    return Check(area=area, name=name, grade=grade, found=found, means=means, advice=advice)
