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

from contract.api.site_check import Check, Grade, amiss, fine
from contract.folder.run_folder import RunFolder
from contract.settings import Settings
from store.session import engine_for, snapshot

LEAST_BYTES, LITTLE = 1 << 30, 0.05
REMOTE = {"nfs", "nfs4", "lustre", "gpfs", "beegfs", "cifs", "smb3", "ceph", "fuse.sshfs", "9p", "afs"}
SKEWED_S = 5.0
KEEPS = {  # what each folder has to have room for
    "runs": "checkpoints, curves and logs",
    "home": "the service's own files",
    "cache": "data sets that ranks render once",
}


def folders(settings: Settings) -> Iterator[Check]:
    """Check where runs and data sets are kept."""
    runs = settings.runs_folder()
    try:
        runs.mkdir(parents=True, exist_ok=True)
        claimed = _claims_hold(runs)
    except OSError as error:
        means, advice = "no run can be submitted", "BIGBATCH_RUNS to a folder that the worker can write"
        yield amiss("folder", "runs", Grade.ERROR, found=f"{runs}: {error}", means=means, advice=advice)
        return
    if claimed:
        found = f"{runs} on {_kind_of(runs) or 'an unknown file system'}"
        yield fine("folder", "runs", found, "runs can be submitted, and of two jobs of one run only one carries it out")
    else:
        found, means = f"{runs} lets two claim the same", "a job that Slurm got twice would train twice"
        advice = "BIGBATCH_RUNS to a folder on a file system with hard links"
        yield amiss("folder", "runs", Grade.ERROR, found=found, means=means, advice=advice)
    for name, path in (("runs", runs), ("home", settings.home_folder()), ("cache", settings.cache_folder())):
        yield _space(name, path)


def database(settings: Settings) -> Iterator[Check]:
    """Check that the database answers, and whether its clock and ours agree."""
    url = make_url(settings.database_url())
    shown = url.render_as_string(hide_password=True)
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").exists():
        found, means = f"{shown} is not there yet", "the service makes it at its start"
        advice = "bigbatch up; or BIGBATCH_DATABASE, if it is elsewhere"
        yield amiss("database", "database", Grade.NOTE, found=found, means=means, advice=advice)
        return
    if url.get_backend_name() == "sqlite" and (kind := _kind_of(Path(url.database or ""))) in REMOTE:
        means = "SQLite's locks do not hold on a network's file system: the database may be damaged"
        found, advice = f"{shown} on {kind}", "BIGBATCH_DATABASE=postgresql://"
        yield amiss("database", "file system", Grade.ERROR, found=found, means=means, advice=advice)
    try:
        yield _answers(settings.database_url(), shown)
    except SQLAlchemyError as error:
        found, advice = f"{shown}: {str(error).splitlines()[0]}", "BIGBATCH_DATABASE to one that answers, or start it"
        means = "nothing works without it"
        yield amiss("database", "database", Grade.ERROR, found=found, means=means, advice=advice)


def broker(settings: Settings) -> Check:
    """Check that the clock's ticks can reach the workers."""
    if not settings.broker:
        folder = settings.home_folder() / "broker"
        found = f"a folder of files, {folder}"
        if folder.exists() and not os.access(folder, os.W_OK):
            found, means = f"{found}, not writable", "no tick reaches a worker: nothing moves"
            advice = f"let the worker write {folder} (chown), or BIGBATCH_HOME to a folder that it can write"
            return amiss("broker", "broker", Grade.ERROR, found=found, means=means, advice=advice)
        means = "clock and workers must be on this machine; with several, BIGBATCH_BROKER=redis://"
        return fine("broker", "broker", found, means)
    try:
        with Connection(settings.broker, connect_timeout=5) as connection:
            connection.ensure_connection(max_retries=1, timeout=5)
            shown = connection.as_uri()  # without the password
    except Exception as error:  # whatever a transport raises
        found, means = f"{type(error).__name__}: {error}", "no tick reaches a worker: nothing moves"
        advice = "BIGBATCH_BROKER to a Redis that answers, or start it"
        return amiss("broker", "broker", Grade.ERROR, found=found, means=means, advice=advice)
    return fine("broker", "broker", f"{shown} answers", "the clock's ticks reach workers on any machine")


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
        return fine("database", "database", found, "what runs do can be kept and shown")
    found += f", its clock {abs(skew_s):.0f} s {'ahead' if skew_s > 0 else 'behind'}"
    means = "times on pages are of two clocks; no decision needs clocks that agree"
    advice = "chrony or ntpd on both"
    return amiss("database", "database", Grade.WARNING, found=found, means=means, advice=advice)


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
    found += f" at {there}"
    advice = f"clear up there, or BIGBATCH_{name.upper()} to a folder with more room"
    if disk.free < LEAST_BYTES:
        means = "runs fail when they can write no checkpoint, and then no line"
        return amiss("space", name, Grade.ERROR, found=found, means=means, advice=advice)
    if share < LITTLE:
        means = f"{KEEPS[name]} go here, and may soon not fit: runs then fail"
        return amiss("space", name, Grade.WARNING, found=found, means=means, advice=advice)
    return fine("space", name, found, f"room for {KEEPS[name]}")


def _kind_of(path: Path) -> str:
    """The kind of file system that a path is on."""
    mounts = {part.mountpoint: part.fstype for part in psutil.disk_partitions(all=True)}
    return next((mounts[str(at)] for at in (path.resolve(), *path.resolve().parents) if str(at) in mounts), "")
