"""Jobs of the local cluster in tests: a tree of two real processes, and what of it lives."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from secrets import token_hex

import psutil
import pytest

from contract.folder.job_identity import JOB_NAME_VARIABLE
from scheduler.clusters import local
from scheduler.clusters.cluster import Alive, JobHandle, JobStatus
from scheduler.clusters.local import Local
from tests.testing.servers import wait_for

NAME = f"bigbatch-{token_hex(4)}-1"  # unique, so that other jobs of this machine do not disturb the tests
# a job of two processes; with the mode IGN the second one ignores SIGTERM
TREE = """
import signal, subprocess, sys, time
child = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_{mode}); print('up', flush=True); time.sleep(60)"
inner = subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE)
inner.stdout.readline()
print("ready", flush=True)
inner.wait()
"""


@contextmanager
def cluster_of_trees(patch: pytest.MonkeyPatch) -> Iterator[Local]:
    """Yield a cluster whose jobs are the process tree above; kill all of their processes afterwards."""
    run_code(patch, TREE.format(mode="DFL"))
    yield Local()
    wait_for("the end of all processes", kill_all)


def run_code(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    monkeypatch.setattr(local, "_command", lambda job: [sys.executable, "-c", code])


def kill_all() -> bool:
    """Kill the job's processes; return whether there were none. The next call finds processes that start meanwhile."""
    found = job_processes()
    for process in found:
        with suppress(psutil.NoSuchProcess):  # a process may end by itself when its parent no longer reads its output
            process.kill()
    return not found


def job_processes() -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(JOB_NAME_VARIABLE) == NAME and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


def status_of(cluster: Local, job_id: str) -> JobStatus:
    job = JobHandle(job_id, NAME)
    return cluster.status([job])[job]


def wait_for_end(cluster: Local, job_id: str) -> JobStatus:
    """Return the first status other than alive."""
    status: JobStatus = Alive()

    def has_ended() -> bool:
        nonlocal status
        status = status_of(cluster, job_id)
        return status != Alive()

    wait_for("the job's end", has_ended)
    return status
