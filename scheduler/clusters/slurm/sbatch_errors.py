"""What it means when sbatch hands nothing in: a limit that is reached, a refusal, or nothing to be sure of.

The words are Slurm's own (slurm_strerror, and what sbatch says before it asks). A sentence of no known kind is doubt:
to look for the job and try again later costs a little, to end a run that Slurm would have taken costs the run.
"""

import re

from scheduler.clusters.cluster import DoubtError, FullError, RefusedError, TooManyError
from scheduler.clusters.slurm.commands import SUBMIT_S, Said

TOO_MANY = re.compile(
    r"submit limit|max_?submit|submit_?jobs?_?limit|job array specification|array size", re.IGNORECASE
)
FULL = re.compile(
    r"temporarily unable|submissions disabled|try again|in down state|\(inactive or drain\)"
    r"|\(down, drained or reserved\)|not available now",
    re.IGNORECASE,
)
# a limit by its name, as AssocMaxSubmitJobLimit; only those of submissions, and of a group, are full now and free later
LIMIT = re.compile(r"\b(?:Assoc|QOS|Partition)\w*Limit\b")
REFUSAL = re.compile(
    r"invalid|denied|violates|exceed|not (?:permitted|available|supported|allowed|in this partition)|required|too long"
    r"|more (?:processors|tasks|ports)|no partition specified|needs to be|\bmust\b|dependency|duplicate|insufficient"
    r"|cannot request|breached|unspecified error|rejected|unrecognized",
    re.IGNORECASE,
)


def trouble(said: Said) -> FullError | RefusedError | DoubtError:
    """What to raise for what sbatch said as it failed."""
    if said.is_silence:
        return DoubtError(f"sbatch: {said.words or f'no answer within {SUBMIT_S} s'}")
    limits = LIMIT.findall(said.words)
    if any(not re.search("submit|grp", name, re.IGNORECASE) for name in limits):
        return RefusedError(said.words)  # what asks for more than a limit allows does so tomorrow too
    # after the limit's name comes a sentence on all kinds of them, which speaks of submissions too
    if TOO_MANY.search(" ".join(limits) if limits else said.words):
        return TooManyError(said.words)
    if limits or FULL.search(said.words):
        return FullError(said.words)
    if REFUSAL.search(said.words):
        return RefusedError(said.words)
    return DoubtError(f"sbatch: {said.words or f'exit code {said.code}'}")
