"""Slurm's job states: which are alive, and what the others mean in one sentence."""

from scheduler.clusters.cluster import Alive, Answer, Gone

# a job in one of these may still run, or run again
ALIVE = frozenset(
    {
        *("PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT"),
        *("REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESIZING", "RESV_DEL_HOLD", "SPECIAL_EXIT"),
    }
)
ENDED = {
    "COMPLETED": "the job ended",
    "FAILED": "the job failed",
    "CANCELLED": "the job was cancelled in Slurm",
    "TIMEOUT": "the job reached its time limit",
    "DEADLINE": "the job reached its deadline",
    "PREEMPTED": "the job was preempted by another",
    "NODE_FAIL": "a node of the job failed",
    "BOOT_FAIL": "a node of the job did not boot",
    "OUT_OF_MEMORY": "the job ran out of memory",
    "REVOKED": "the job went to another cluster",
}


def answer_for(state: str, detail: str) -> Answer | None:
    """Translate one state ("CANCELLED by 0" counts as CANCELLED); None for a word that Slurm never had before.

    `detail` is Slurm's reason or the exit code.
    """
    word = state.split()[0].rstrip("+") if state else ""
    if word in ALIVE:
        waits = detail if word == "PENDING" and detail not in ("", "None") else None
        return Alive(waits)
    if word in ENDED:
        return Gone(f"{ENDED[word]} ({detail})" if detail not in ("", "None") else ENDED[word])
    return None
