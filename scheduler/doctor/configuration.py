"""What Slurm's configuration means for runs, and what to set where it hurts them."""

import re
from collections.abc import Iterator, Mapping, Sequence

from contract.doctor import Check, Grade

OLDEST, TRIED = (20, 11), "22.05"
COMMON_STEP_S = 30  # ranks that are told to end have so long to come to a common step, and save (trainers/notice.py)
FORGETS_S = 60  # a job is asked about at least once in so many seconds (scheduler/look.py)

Configuration = Mapping[str, str]


def examine(told: Configuration, partitions: Sequence[Configuration]) -> Iterator[Check]:
    """Check what `scontrol show config` and `scontrol show partition` say."""
    yield _version(told.get("SLURM_VERSION", ""))
    yield _accounting(told.get("AccountingStorageType", ""))
    yield _memory_of_ended_jobs(_seconds(told.get("MinJobAge", "300")), told.get("AccountingStorageType", ""))
    yield _arrays(_number(told.get("MaxArraySize", "1001")))
    yield _preemption(told)
    yield _requeue(told)
    yield _whole_nodes(told.get("SelectType", ""))
    yield _processes(told.get("ProctrackType", ""))
    for partition in partitions:
        yield _partition(partition, told)


def _version(version: str) -> Check:
    numbers = tuple(map(int, re.findall(r"\d+", version)[:2]))
    check = Check(area="slurm", name="version", grade=Grade.OK, found=version or "not told")
    if not numbers or numbers >= OLDEST:
        return check
    means = f"commands and states are those of {OLDEST[0]}.{OLDEST[1]} to 25.05; {TRIED} is what was tried"
    return check.model_copy(update={"grade": Grade.WARNING, "means": means})


def _accounting(kind: str) -> Check:
    if kind and not kind.endswith("/none"):
        return Check(area="slurm", name="accounting", grade=Grade.OK, found=kind)
    return Check(
        area="slurm",
        name="accounting",
        grade=Grade.NOTE,
        found=kind or "not told",
        means="squeue, scontrol and the runs' own signs of life must do; how a job ended is known for MinJobAge only",
        advice="AccountingStorageType=accounting_storage/slurmdbd, for causes of ends that nobody saw",
    )


def _memory_of_ended_jobs(age_s: int, accounting: str) -> Check:
    check = Check(area="slurm", name="MinJobAge", grade=Grade.OK, found=f"{age_s} s")
    has_accounting = bool(accounting) and not accounting.endswith("/none")
    if age_s >= FORGETS_S:
        return check
    means = f"Slurm forgets a job {age_s} s after its end, and is asked every {FORGETS_S} s when it is slow"
    grade = Grade.NOTE if has_accounting else Grade.WARNING
    means += "; the accounting then tells" if has_accounting else "; its cause is then lost"
    return check.model_copy(update={"grade": grade, "means": means, "advice": "MinJobAge=300"})


def _arrays(most: int) -> Check:
    check = Check(area="slurm", name="MaxArraySize", grade=Grade.OK, found=str(most))
    if most < 2:
        means = "no arrays: every run of a sweep is an sbatch of its own, and twelve go in a minute"
        return check.model_copy(update={"grade": Grade.WARNING, "means": means, "advice": "MaxArraySize=1001"})
    return check.model_copy(update={"means": f"a sweep goes as arrays of up to {most} runs, one sbatch each"})


def _preemption(told: Configuration) -> Check:
    kind, mode = told.get("PreemptType", ""), told.get("PreemptMode", "OFF")
    check = Check(area="slurm", name="preemption", grade=Grade.OK, found=f"{kind or 'none'}, {mode}")
    if not kind or kind.endswith("/none") or kind == "(null)" or mode == "OFF":
        return check.model_copy(update={"found": "none", "means": "no job has to make room for another"})
    if "SUSPEND" in mode:
        means = "a preempted run stands still and keeps its memory; its ranks' connections may break"
        return check.model_copy(update={"grade": Grade.WARNING, "means": means, "advice": "PreemptMode=REQUEUE"})
    signal = "SIGUSR2" if "send_user_signal" in told.get("PreemptParameters", "") else "SIGTERM"
    means = f"a preempted run is sent {signal}, saves itself and goes on as its next attempt"
    return check.model_copy(update={"means": means})


def _requeue(told: Configuration) -> Check:
    found = "on" if told.get("JobRequeue", "1") == "1" else "off"
    means = "jobs are submitted with --no-requeue: the service submits the next attempt itself"
    return Check(area="slurm", name="requeue", grade=Grade.OK, found=found, means=means)


def _whole_nodes(select: str) -> Check:
    check = Check(area="slurm", name="SelectType", grade=Grade.OK, found=select or "not told")
    if not select.endswith("/linear"):
        return check
    means = "every job gets whole nodes, so that a small run wastes one"
    return check.model_copy(update={"grade": Grade.NOTE, "means": means, "advice": "SelectType=select/cons_tres"})


def _processes(tracking: str) -> Check:
    check = Check(area="slurm", name="ProctrackType", grade=Grade.OK, found=tracking or "not told")
    if tracking.endswith("/cgroup"):
        return check
    means = "a process that leaves its group may outlive its job and keep memory"
    return check.model_copy(update={"grade": Grade.NOTE, "means": means, "advice": "ProctrackType=proctrack/cgroup"})


def _partition(partition: Configuration, told: Configuration) -> Check:
    name, state = partition.get("PartitionName", "?"), partition.get("State", "")
    grace_s, wait_s = _seconds(partition.get("GraceTime", "0")), _seconds(told.get("KillWait", "30"))
    found = f"{state}, up to {partition.get('MaxTime', '?')}, GraceTime {grace_s} s, KillWait {wait_s} s"
    check = Check(area="slurm", name=f"partition {name}", grade=Grade.OK, found=found)
    if state != "UP":
        return check.model_copy(update={"grade": Grade.WARNING, "means": "runs that ask for it only wait"})
    if max(grace_s, wait_s) >= COMMON_STEP_S or partition.get("PreemptMode", "OFF") == "OFF":
        return check
    means = (
        f"a preempted run is killed {max(grace_s, wait_s)} s after it was told; its ranks may need {COMMON_STEP_S} s"
    )
    means += " to save together, and what came after the last checkpoint is then lost"
    advice = f"GraceTime={COMMON_STEP_S} for the partition, or KillWait={COMMON_STEP_S}"
    return check.model_copy(update={"grade": Grade.WARNING, "means": means, "advice": advice})


def _seconds(text: str) -> int:
    """30 of "30 sec", 90 of "00:01:30"."""
    if ":" in text:
        seconds = 0
        for part in re.findall(r"\d+", text):
            seconds = 60 * seconds + int(part)
        return seconds
    return _number(text)


def _number(text: str) -> int:
    found = re.match(r"\d+", text)
    return int(found.group()) if found else 0
