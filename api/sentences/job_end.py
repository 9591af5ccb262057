"""Sentences for the ends of jobs."""

from contract.lifecycle.job_end import EndKind, JobEnd

_SENTENCES = {
    EndKind.COMPLETED: "the job completed",
    EndKind.FAILED: "the job failed",
    EndKind.CANCELLED: "the job was cancelled in the cluster, as scancel does",
    EndKind.TIME_LIMIT: "the job reached its time limit",
    EndKind.DEADLINE: "the job reached its deadline",
    EndKind.PREEMPTED: "another job preempted the job",
    EndKind.REQUEUED: "the cluster requeued the job",
    EndKind.NODE_FAILED: "a node of the job failed",
    EndKind.NODE_BOOT_FAILED: "a node of the job did not boot",
    EndKind.NODE_CONFIG_FAILED: "a node of the job could not be configured",
    EndKind.LAUNCH_FAILED: "the job could not be launched",
    EndKind.OUT_OF_MEMORY: "the job ran out of memory",
    EndKind.REVOKED: "the job moved to another cluster",
    EndKind.UNLISTED: "Slurm no longer lists the job",
    EndKind.ACCOUNTING_ONLY: "only the accounting database lists the job, as cancelled by no known user",
    EndKind.START_LOST: "Slurm's controller lost the start of the job and lists the job as cancelled",
    EndKind.PROCESS_GONE: "the job's process has ended",
}


def job_end_sentence(end: JobEnd) -> str:
    """Return one sentence without a full stop; the cluster's own word stands in parentheses."""
    match end.kind:
        case EndKind.EXITED:
            return f"the job ended with exit code {end.exit_code}"
        case EndKind.SIGNALED:
            return f"a signal ended the job ({end.detail})"
        case EndKind.PART_EXITED if end.exit_code:
            return f"its part of the job ended with exit code {end.exit_code}"
        case EndKind.PART_EXITED:
            return "its part of the job ended"
        case EndKind.OTHER:
            return end.detail or "the job ended"
        case kind:
            return f"{_SENTENCES[kind]} ({end.detail})" if end.detail else _SENTENCES[kind]
