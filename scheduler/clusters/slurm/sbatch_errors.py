"""Error messages of sbatch, classified: a limit that is reached, a refusal, or an unknown outcome.

The messages are Slurm's own (slurm_strerror, and the checks that sbatch makes itself). An unknown message counts as an
unknown outcome: a search for the job and another submission cost little, a wrong refusal would end a valid run. A run
whose submission meets it again and again is ended (scheduler/ticks/recover.py).
"""

import re

from scheduler.clusters.cluster import (
    ArrayTooLargeError,
    NoAnswerError,
    QueueFullError,
    RefusedError,
    SubmitLimitError,
    UnknownErrorMessage,
)
from scheduler.clusters.slurm.commands import SBATCH_TIMEOUT_S, CommandResult

TOO_MANY_TASKS = re.compile("job array specification|array size", re.IGNORECASE)
TOO_MANY_JOBS = re.compile(r"submit limit|max_?submit|submit_?jobs?_?limit", re.IGNORECASE)
TEMPORARY = re.compile(
    r"temporarily unable|submissions disabled|try again|in down state|\(inactive or drain\)"
    r"|\(down, drained or reserved\)|not available now",
    re.IGNORECASE,
)
LIMIT_NAME = re.compile(r"\b(?:Assoc|QOS|Partition)\w*Limit\b")  # AssocMaxSubmitJobLimit
# only limits of submissions, and of a group, are reached now and free later
TEMPORARY_LIMIT = re.compile("submit|grp", re.IGNORECASE)
REFUSAL = re.compile(
    r"invalid|denied|violates|exceed|not (?:permitted|available|supported|allowed|in this partition)|required|too long"
    r"|more (?:processors|tasks|ports)|no partition specified|needs to be|\bmust\b|dependency|duplicate|insufficient"
    r"|cannot request|breached|unspecified error|rejected|unrecognized|mutually exclusive|not valid",
    re.IGNORECASE,
)


def classify_sbatch_error(result: CommandResult) -> QueueFullError | RefusedError | NoAnswerError:
    """Return the exception to raise for a failed sbatch."""
    message = result.message
    if result.is_no_answer:
        return NoAnswerError(f"sbatch: {message or f'no answer within {SBATCH_TIMEOUT_S} s'}")
    limits = LIMIT_NAME.findall(message)
    if any(not TEMPORARY_LIMIT.search(name) for name in limits):
        return RefusedError(message)  # the job asks for more than the limit allows, now and later
    # if a limit is named, the rest of the message is one sentence for all limits, submissions included
    subject = " ".join(limits) if limits else message
    if TOO_MANY_TASKS.search(subject):
        return ArrayTooLargeError(message)
    if TOO_MANY_JOBS.search(subject):
        return SubmitLimitError(message)
    if limits or TEMPORARY.search(message):
        return QueueFullError(message)
    if REFUSAL.search(message):
        return RefusedError(message)
    return UnknownErrorMessage(f"sbatch: {message or f'exit code {result.exit_code}'}")
