"""Does Slurm answer, which limits has this user, and what does its configuration mean?"""

import shutil
import time
from collections.abc import Iterator

from contract.doctor import Check, Grade
from scheduler.clusters import slurm_limits
from scheduler.clusters.cluster import DoubtError
from scheduler.clusters.slurm_commands import Commands
from scheduler.doctor.configuration import examine

NEEDED, USEFUL = ("sbatch", "squeue", "scancel", "scontrol"), ("sacct", "sinfo", "sacctmgr")
SLOW_S = 2.0


def slurm(commands: Commands) -> Iterator[Check]:
    """Check the commands, then what they say; about eight calls."""
    absent = [name for name in NEEDED if not shutil.which(name)]
    if absent:
        means = "the service cannot submit or follow jobs without them"
        yield _check(
            "commands", Grade.ERROR, f"{', '.join(absent)} not on PATH", means, "put them on the worker's PATH"
        )
        return
    lacking = [name for name in USEFUL if not shutil.which(name)]
    yield _check("commands", Grade.NOTE if lacking else Grade.OK, _found(lacking))
    try:
        yield from _answers(commands)
    except DoubtError as doubt:
        means = "no run can be submitted or followed until it answers"
        yield _check("controller", Grade.ERROR, str(doubt), means, "scontrol ping; SLURM_CONF of the worker; munge")


def _answers(commands: Commands) -> Iterator[Check]:
    began = time.monotonic()
    told = slurm_limits.configuration(commands)
    took_s = time.monotonic() - began
    means = "a Slurm that is slow to answer is asked less often, and states come later" if took_s > SLOW_S else ""
    yield _check("controller", Grade.WARNING if means else Grade.OK, f"answers in {1000 * took_s:.0f} ms", means)
    yield from examine(told, _partitions(commands.ask("scontrol", "-o", "show", "partition")))
    yield from _accounting_answers(commands, told.get("AccountingStorageType", ""))
    most = slurm_limits.read(commands).jobs
    means = "no more jobs of this user are submitted at once; the rest of a sweep waits in the service"
    yield _check("MaxSubmitJobs", Grade.OK, "no limit was found" if most is None else str(most), means if most else "")


def _accounting_answers(commands: Commands, kind: str) -> Iterator[Check]:
    if not kind or kind.endswith("/none"):
        return
    try:
        commands.ask("sacct", "-X", "-n", "-P", "-S", "now-1hours", "-o", "JobID,State")
        yield _check("sacct", Grade.OK, "answers")
    except DoubtError as doubt:
        means = "how a job ended is known only while squeue still lists it; no run is taken for dead because of it"
        yield _check("sacct", Grade.WARNING, str(doubt), means, "look at slurmdbd")


def _partitions(text: str) -> list[dict[str, str]]:
    split = [dict(word.split("=", 1) for word in line.split() if "=" in word) for line in text.splitlines()]
    return [words for words in split if words]


def _found(lacking: list[str]) -> str:
    return f"all there but {', '.join(lacking)}" if lacking else "all there"


def _check(name: str, grade: Grade, found: str, means: str = "", advice: str = "") -> Check:
    return Check(area="slurm", name=name, grade=grade, found=found, means=means, advice=advice)
