"""What befalls jobs: held, requeued or preempted, a host that fails. The stage is held alone."""

import time

from lab.fake_slurm.errors import SlurmError
from lab.fake_slurm.state import HELD, RUNS, UNDER_WAY, WAITS, Job, Stage

AGAIN_AFTER_S = 3.0  # Slurm waits until the old credential has expired


def hold(stage: Stage, spelled: str, reason: str = HELD) -> None:
    """The job may not begin before it is released."""
    job = _under_way(stage, spelled)
    if job.state != WAITS:
        raise SlurmError("Job is no longer pending execution")
    stage.change(job, reason=reason)


def release(stage: Stage, spelled: str) -> None:
    hold(stage, spelled, "Resources")


def requeue(stage: Stage, spelled: str) -> None:
    """The job leaves its hosts and waits again, under the same id."""
    job = _under_way(stage, spelled)
    stage.change(job, state="COMPLETING", wish="requeue", wished=time.time())


def preempt(stage: Stage, spelled: str) -> None:
    """A job of a higher partition takes its place: it is asked to leave, then made to."""
    job = _under_way(stage, spelled)
    stage.change(job, state="COMPLETING", wish="preempt", wished=time.time())


def fail_host(stage: Stage, name: str) -> None:
    """The host is gone, and all that ran on it."""
    stage.db.execute("UPDATE hosts SET down = 1 WHERE name = ?", (name,))
    for job in stage.jobs("state IN (?, ?)", *RUNS):
        if name in job.hosts.split(","):
            stage.change(job, state="COMPLETING", wish="fail", wished=time.time())


def mend_hosts(stage: Stage) -> None:
    stage.db.execute("UPDATE hosts SET down = 0")


def _under_way(stage: Stage, spelled: str) -> Job:
    found = next((job for job in stage.jobs("state IN (?, ?, ?)", *UNDER_WAY) if job.spelled == spelled), None)
    if not found:
        raise SlurmError("Invalid job id specified")
    return found
