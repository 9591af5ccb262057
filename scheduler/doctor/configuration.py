"""What Slurm's configuration means for runs, and what to set where it hurts them."""

import re
from collections.abc import Iterator, Mapping, Sequence

from contract.api.site_check import Check, Grade, amiss, fine
from scheduler.clusters.slurm.limits import number

OLDEST, TRIED = (20, 11), "22.05"
# ranks that are told to end have so long to come to a common step, and save (trainers/recovery/preemption_signal.py)
COMMON_STEP_S = 30
# jobs are asked about twice within MinJobAge, but not more often than every 12 s (scheduler/ticks/poll.py)
FORGETS_S = 24

Configuration = Mapping[str, str]


def examine(told: Configuration, partitions: Sequence[Configuration]) -> Iterator[Check]:
    """Check what `scontrol show config` and `scontrol show partition` say."""
    yield _version(told.get("SLURM_VERSION", ""))
    yield _accounting(told.get("AccountingStorageType", ""))
    yield _memory_of_ended_jobs(_seconds(told.get("MinJobAge", "300")), told.get("AccountingStorageType", ""))
    yield _arrays(number(told.get("MaxArraySize", "1001")))
    yield _preemption(told)
    yield _requeue(told)
    yield _whole_nodes(told.get("SelectType", ""))
    yield _processes(told.get("ProctrackType", ""))
    for partition in partitions:
        yield _partition(partition, told)


def _version(version: str) -> Check:
    numbers = tuple(map(int, re.findall(r"\d+", version)[:2]))
    means = f"commands and states are those of {OLDEST[0]}.{OLDEST[1]} to 25.05; {TRIED} is what was tried"
    if not numbers or numbers >= OLDEST:
        return fine("slurm", "version", version or "not told", means)
    means += "; an older Slurm may refuse a command, or have states that are not understood"
    advice = f"update Slurm to {OLDEST[0]}.{OLDEST[1]} or later, {TRIED} where you can choose"
    return amiss("slurm", "version", Grade.WARNING, found=version, means=means, advice=advice)


def _accounting(kind: str) -> Check:
    if kind and not kind.endswith("/none"):
        return fine("slurm", "accounting", kind, "how a job ended is known after squeue has forgotten it too")
    means = "squeue, scontrol and the runs' own signs of life must do; how a job ended is known for MinJobAge only"
    advice = "AccountingStorageType=accounting_storage/slurmdbd, for causes of ends that nobody saw"
    return amiss("slurm", "accounting", Grade.NOTE, found=kind or "not told", means=means, advice=advice)


def _memory_of_ended_jobs(age_s: int, accounting: str) -> Check:
    found = f"{age_s} s"
    if not age_s:
        return fine("slurm", "MinJobAge", found, "Slurm forgets no job: how each ended can be asked at any time")
    if age_s >= FORGETS_S:
        return fine("slurm", "MinJobAge", found, "Slurm knows an ended job for long enough to be asked about it twice")
    means = f"Slurm forgets a job {age_s} s after its end, and is asked every {FORGETS_S // 2} s"
    has_accounting = bool(accounting) and not accounting.endswith("/none")
    grade = Grade.NOTE if has_accounting else Grade.WARNING
    means += "; the accounting then tells" if has_accounting else "; its cause is then lost"
    return amiss("slurm", "MinJobAge", grade, found=found, means=means, advice="MinJobAge=300")


def _arrays(most: int) -> Check:
    if most < 2:
        means = "no arrays: every run of a sweep is an sbatch of its own, and twelve go in a minute"
        advice = "MaxArraySize=1001"
        return amiss("slurm", "MaxArraySize", Grade.WARNING, found=str(most), means=means, advice=advice)
    return fine("slurm", "MaxArraySize", str(most), f"a sweep goes as arrays of up to {most} runs, one sbatch each")


def _preemption(told: Configuration) -> Check:
    kind, mode = told.get("PreemptType", ""), told.get("PreemptMode", "OFF")
    found = f"{kind or 'none'}, {mode}"
    if not kind or kind.endswith("/none") or kind == "(null)" or mode == "OFF":
        return fine("slurm", "preemption", "none", "no job has to make room for another")
    if "SUSPEND" in mode:
        means = "a preempted run stands still and keeps its memory; its ranks' connections may break"
        advice = "PreemptMode=REQUEUE"
        return amiss("slurm", "preemption", Grade.WARNING, found=found, means=means, advice=advice)
    signal = "SIGUSR2" if "send_user_signal" in told.get("PreemptParameters", "") else "SIGTERM"
    means = f"a preempted run is sent {signal}, saves itself and goes on as its next attempt"
    return fine("slurm", "preemption", found, means)


def _requeue(told: Configuration) -> Check:
    found = "on" if told.get("JobRequeue", "1") == "1" else "off"
    means = "jobs are submitted with --no-requeue: the service submits the next attempt itself"
    return fine("slurm", "requeue", found, means)


def _whole_nodes(select: str) -> Check:
    if not select.endswith("/linear"):
        return fine("slurm", "SelectType", select or "not told", "small runs share a node where a partition lets them")
    means = "every job gets whole nodes, so that a small run wastes one"
    advice = "SelectType=select/cons_tres, or `pack` in sweeps of small runs"
    return amiss("slurm", "SelectType", Grade.NOTE, found=select, means=means, advice=advice)


def _processes(tracking: str) -> Check:
    if tracking.endswith("/cgroup"):
        return fine("slurm", "ProctrackType", tracking, "no process of a run outlives its job")
    means = "a process that leaves its group may outlive its job and keep memory"
    advice = "ProctrackType=proctrack/cgroup"
    return amiss("slurm", "ProctrackType", Grade.NOTE, found=tracking or "not told", means=means, advice=advice)


def _partition(partition: Configuration, told: Configuration) -> Check:
    name, state = partition.get("PartitionName", "?"), partition.get("State", "")
    grace_s, wait_s = _seconds(partition.get("GraceTime", "0")), _seconds(told.get("KillWait", "30"))
    found = f"{state}, up to {partition.get('MaxTime', '?')}, GraceTime {grace_s} s, KillWait {wait_s} s"
    if state != "UP":
        advice = f"scontrol update PartitionName={name} State=UP, or another `partition` in the runs' resources"
        means = "runs that ask for it only wait, or are refused"
        return amiss("slurm", f"partition {name}", Grade.WARNING, found=found, means=means, advice=advice)
    if partition.get("PreemptMode", "OFF") == "OFF":
        return fine("slurm", f"partition {name}", found, "runs start here, and are not preempted")
    if (longest_s := max(grace_s, wait_s)) >= COMMON_STEP_S:
        return fine("slurm", f"partition {name}", found, f"a preempted run has {longest_s} s to save itself")
    means = f"a preempted run is killed {longest_s} s after it was told; its ranks may need {COMMON_STEP_S} s"
    means += " to save together, and what came after the last checkpoint is then lost"
    advice = f"GraceTime={COMMON_STEP_S} for the partition, or KillWait={COMMON_STEP_S}"
    return amiss("slurm", f"partition {name}", Grade.WARNING, found=found, means=means, advice=advice)


def _seconds(text: str) -> int:
    """30 of "30 sec", 90 of "00:01:30"."""
    if ":" in text:
        seconds = 0
        for part in re.findall(r"\d+", text):
            seconds = 60 * seconds + int(part)
        return seconds
    return number(text)
