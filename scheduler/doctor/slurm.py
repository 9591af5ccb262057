"""Does Slurm answer, which limits has this user, and what does its configuration mean?"""

import shutil
import time
from collections.abc import Iterator, Sequence

from contract.api.site_check import Check, Grade, amiss, fine
from scheduler.clusters.cluster import DoubtError
from scheduler.clusters.slurm import limits as slurm_limits
from scheduler.clusters.slurm.commands import EVERYWHERE, Commands
from scheduler.doctor.configuration import examine

NEEDED = ("sbatch", "squeue", "scancel", "scontrol")
USEFUL = {  # what is not known without each
    "sacct": "how a job ended that squeue has forgotten",
    "sinfo": "the cluster's nodes on its page",
    "sacctmgr": "MaxSubmitJobs",
}
SLOW_S = 2.0


def slurm(commands: Commands) -> Iterator[Check]:
    """Check the commands, then what they say; four calls."""
    absent = [name for name in NEEDED if not shutil.which(name)]
    if absent:
        means = "the service cannot submit or follow jobs without them"
        found, advice = f"{', '.join(absent)} not on PATH", "put them on the worker's PATH"
        yield amiss("slurm", "commands", Grade.ERROR, found=found, means=means, advice=advice)
        return
    yield _useful([name for name in USEFUL if not shutil.which(name)])
    try:
        yield from _answers(commands)
    except DoubtError as doubt:
        means = "no run can be submitted or followed until it answers"
        advice = "look at scontrol ping, SLURM_CONF of the worker, and munge"
        yield amiss("slurm", "controller", Grade.ERROR, found=str(doubt), means=means, advice=advice)


def _useful(lacking: Sequence[str]) -> Check:
    if not lacking:
        means = "the service can submit jobs, follow them and learn how they ended"
        return fine("slurm", "commands", "all there", means)
    found, advice = f"all there but {', '.join(lacking)}", f"put {', '.join(lacking)} on the worker's PATH"
    means = f"not known without: {'; '.join(USEFUL[name] for name in lacking)}"
    return amiss("slurm", "commands", Grade.NOTE, found=found, means=means, advice=advice)


def _answers(commands: Commands) -> Iterator[Check]:
    began = time.monotonic()
    told = slurm_limits.configuration(commands)
    took_s = time.monotonic() - began
    yield _controller(took_s)
    yield from examine(told, _partitions(commands.ask("scontrol", *EVERYWHERE, "-o", "show", "partition")))
    yield from _accounting_answers(commands, told.get("AccountingStorageType", ""))
    yield _most_jobs(told, commands)


def _controller(took_s: float) -> Check:
    found = f"answers in {1000 * took_s:.0f} ms"
    if took_s <= SLOW_S:
        return fine("slurm", "controller", found, "jobs can be submitted, and states come soon")
    means = "a Slurm that is slow to answer is asked less often, and states come later"
    advice = "look with sdiag at what keeps slurmctld busy; SchedulerParameters=max_rpc_cnt=150 where it is calls"
    return amiss("slurm", "controller", Grade.WARNING, found=found, means=means, advice=advice)


def _accounting_answers(commands: Commands, kind: str) -> Iterator[Check]:
    if not kind or kind.endswith("/none") or not shutil.which("sacct"):
        return
    try:
        commands.ask("sacct", "-X", "-n", "-P", "-S", "now-1hours", "-o", "JobID,State")
        yield fine("slurm", "sacct", "answers", "how a job ended can be asked when squeue has forgotten it")
    except DoubtError as doubt:
        means = "how a job ended is known only while squeue still lists it; no run is taken for dead because of it"
        advice = "look at slurmdbd on AccountingStorageHost: systemctl status slurmdbd"
        yield amiss("slurm", "sacct", Grade.WARNING, found=str(doubt), means=means, advice=advice)


def _most_jobs(told: dict[str, str], commands: Commands) -> Check:
    try:
        submits, doubt = slurm_limits.submit_limit(commands), ""
    except DoubtError as unknown:  # a Slurm without accounting has no such limits
        submits, doubt = 0, str(unknown)
    most = slurm_limits.most(slurm_limits.configured(told).jobs or 0, submits)
    found, means = (
        str(most),
        "no more jobs of this user are submitted at once; the rest of a sweep waits in the service",
    )
    if most is None:
        found, means = "no limit was found", "of a sweep as much is submitted at once as Slurm takes"
    return fine("slurm", "MaxSubmitJobs", f"{found} ({doubt})" if doubt else found, means)


def _partitions(text: str) -> list[dict[str, str]]:
    split = [dict(word.split("=", 1) for word in line.split() if "=" in word) for line in text.splitlines()]
    return [words for words in split if words]
