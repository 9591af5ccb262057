"""Slurm's job states, all of them: which are alive, and what the others mean in one sentence."""

from typing import NamedTuple

from contract.lifecycle.pending_reason import Waits
from contract.spec.retry import Cause
from scheduler.clusters.cluster import Alive, Answer, Gone
from scheduler.clusters.slurm.job_ids import hosts_in
from scheduler.clusters.slurm.pending_reasons import classify


class State(NamedTuple):
    """What a state means; `cause` where the job has ended, `waits` where it lives and does not get on."""

    sentence: str
    cause: Cause | None = None
    waits: Waits | None = None


# sacct(1) and squeue(1), "JOB STATE CODES", of versions 20.02 to 25.05
STATES = {
    "PENDING": State("the job waits"),
    "CONFIGURING": State("its nodes are made ready", waits=Waits.RESOURCES),
    "RUNNING": State("the job runs"),
    "COMPLETING": State("the job is ending"),
    "SUSPENDED": State("the job is suspended and keeps its place", waits=Waits.HELD),
    "STOPPED": State("the job is stopped and keeps its cores", waits=Waits.HELD),
    "SIGNALING": State("the job is being sent a signal"),
    "STAGE_OUT": State("the job's files are carried away", waits=Waits.OTHER),
    "RESIZING": State("the job is about to change its size", waits=Waits.OTHER),
    "REQUEUED": State("the job goes back to the queue", waits=Waits.OTHER),
    "REQUEUE_FED": State("the job goes back to the queue of a federation", waits=Waits.OTHER),
    "REQUEUE_HOLD": State("the job is held after it was requeued", waits=Waits.HELD),
    "RESV_DEL_HOLD": State("the job is held because its reservation was deleted", waits=Waits.HELD),
    "SPECIAL_EXIT": State("the job is held after an exit of a special kind", waits=Waits.HELD),
    "LAUNCH_FAILED": State("the job could not be launched", Cause.NODE_FAILURE),
    "COMPLETED": State("the job ended", Cause.DONE),
    "FAILED": State("the job failed", Cause.FAILURE),
    "CANCELLED": State("the job was cancelled in Slurm", Cause.CANCELLED),
    "TIMEOUT": State("the job reached its time limit", Cause.TIME_LIMIT),
    "DEADLINE": State("the job reached its deadline", Cause.CANCELLED),
    "PREEMPTED": State("the job was preempted by another", Cause.PREEMPTED),
    "NODE_FAIL": State("a node of the job failed", Cause.NODE_FAILURE),
    "BOOT_FAIL": State("a node of the job did not boot", Cause.NODE_FAILURE),
    "OUT_OF_MEMORY": State("the job ran out of memory", Cause.OUT_OF_MEMORY),
    "RECONFIG_FAIL": State("a node of the job could not be configured", Cause.NODE_FAILURE),
    "POWER_UP_NODE": State("its nodes are being powered up", waits=Waits.RESOURCES),
    "UPDATE_DB": State("the job's record is being written"),
    "EXPEDITING": State("the job goes back to the queue, to its head", waits=Waits.OTHER),
    "REVOKED": State("the job went to another cluster", Cause.CANCELLED),
}


def answer_for(state: str, detail: str, nodes: str = "") -> Answer | None:
    """Translate one state ("CANCELLED by 0" counts as CANCELLED); None for a word that Slurm never had before.

    `detail` is Slurm's reason or the exit code, `nodes` those that the job had.
    """
    word = state.split()[0].rstrip("+") if state else ""
    known = STATES.get(word)
    if not known:
        return None
    detail = "" if detail in ("None", "0:0") else detail
    if known.cause:
        ended = Gone(f"{known.sentence} ({detail})" if detail else known.sentence, known.cause)
        return ended._replace(hosts=tuple(hosts_in(nodes))) if known.cause is Cause.NODE_FAILURE else ended
    if word == "PENDING":
        return Alive(*classify(detail)) if detail else Alive()
    return Alive(f"{known.sentence} ({word})", known.waits) if known.waits else Alive()
