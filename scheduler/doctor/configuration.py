"""Checks of Slurm's configuration: the effect of each parameter on runs, and the recommended value."""

import re
from collections.abc import Iterator, Mapping, Sequence

from contract.api.site_check import Check, Grade, failed_check, passed_check
from scheduler.clusters.rate_limit import SINGLE_SUBMISSIONS
from scheduler.clusters.slurm.job_ids import parse_hosts
from scheduler.clusters.slurm.limits import parse_number

Configuration = Mapping[str, str]


def has_preemption(configuration: Configuration) -> bool:
    """Return whether the cluster preempts jobs at all."""
    kind, mode = configuration.get("PreemptType", ""), configuration.get("PreemptMode", "OFF")
    return bool(kind) and not kind.endswith("/none") and kind != "(null)" and mode != "OFF"


def can_be_preempted(
    partition: Configuration, configuration: Configuration, partitions: Sequence[Configuration]
) -> bool:
    """Return whether a job of the partition can be preempted.

    With preempt/partition_prio only a partition of a higher PriorityTier preempts, on the nodes that both have. Which
    QOS preempts which is not in the configuration, so with preempt/qos every partition counts.
    """
    if not has_preemption(configuration) or partition.get("PreemptMode", configuration["PreemptMode"]) == "OFF":
        return False
    if not configuration["PreemptType"].endswith("/partition_prio"):
        return True
    return any(_tier(other) > _tier(partition) and _share_nodes(other, partition) for other in partitions)


def _tier(partition: Configuration) -> int:
    return parse_number(partition.get("PriorityTier", "1"))


def _share_nodes(one: Configuration, other: Configuration) -> bool:
    nodes, others = (set(parse_hosts(partition.get("Nodes", ""))) for partition in (one, other))
    return not nodes or not others or bool(nodes & others)  # an unknown list may have any node


OLDEST_VERSION, TESTED_VERSION = (20, 11), "22.05"
SAVE_TIME_S = 30  # ranks may need this time to stop after the same step and to save a checkpoint
MIN_JOB_AGE_S = (
    24  # an ended job should be listed for two queries, and queries are at least 12 s apart (scheduler/ticks/poll.py)
)


def check_configuration(configuration: Configuration, partitions: Sequence[Configuration]) -> Iterator[Check]:
    """Yield the results for the output of `scontrol show config` and `scontrol show partition`."""
    yield _version(configuration.get("SLURM_VERSION", ""))
    yield _accounting(configuration.get("AccountingStorageType", ""))
    yield _min_job_age(_seconds(configuration.get("MinJobAge", "300")), configuration.get("AccountingStorageType", ""))
    yield _arrays(parse_number(configuration.get("MaxArraySize", "1001")))
    yield _preemption(configuration, partitions)
    yield _requeue(configuration)
    yield _whole_nodes(configuration.get("SelectType", ""))
    yield _processes(configuration.get("ProctrackType", ""))
    for partition in partitions:
        yield _partition(partition, configuration, partitions)


def _version(version: str) -> Check:
    numbers = tuple(map(int, re.findall(r"\d+", version)[:2]))
    means = f"versions {OLDEST_VERSION[0]}.{OLDEST_VERSION[1]} to 25.05 are supported; {TESTED_VERSION} is tested"
    if not numbers or numbers >= OLDEST_VERSION:
        return passed_check("slurm", "version", version or "not reported", means)
    means += "; an older Slurm may refuse a command or use unknown job states"
    advice = f"update Slurm to {OLDEST_VERSION[0]}.{OLDEST_VERSION[1]} or later, preferably {TESTED_VERSION}"
    return failed_check("slurm", "version", Grade.WARNING, found=version, means=means, advice=advice)


def _accounting(kind: str) -> Check:
    if kind and not kind.endswith("/none"):
        return passed_check(
            "slurm", "accounting", kind, "the end of a job is known after squeue no longer lists the job"
        )
    means = "the service uses squeue, scontrol and heartbeats; the end of a job is known only for MinJobAge"
    advice = "set AccountingStorageType=accounting_storage/slurmdbd to store the end of every job"
    return failed_check("slurm", "accounting", Grade.NOTE, found=kind or "not reported", means=means, advice=advice)


def _min_job_age(age_s: int, accounting: str) -> Check:
    found = f"{age_s} s"
    if not age_s:
        return passed_check("slurm", "MinJobAge", found, "Slurm lists ended jobs without a time limit")
    if age_s >= MIN_JOB_AGE_S:
        return passed_check("slurm", "MinJobAge", found, "Slurm lists an ended job long enough for two queries")
    means = f"Slurm lists a job for {age_s} s after its end, but queries are {MIN_JOB_AGE_S // 2} s apart"
    has_accounting = bool(accounting) and not accounting.endswith("/none")
    grade = Grade.NOTE if has_accounting else Grade.WARNING
    means += "; the accounting still has its end" if has_accounting else "; the cause of its end is lost"
    return failed_check("slurm", "MinJobAge", grade, found=found, means=means, advice="set MinJobAge=300")


def _arrays(most: int) -> Check:
    if most < 2:
        means = f"no job arrays: each run needs its own sbatch, at most {SINGLE_SUBMISSIONS} per minute"
        advice = "set MaxArraySize=1001"
        return failed_check("slurm", "MaxArraySize", Grade.WARNING, found=str(most), means=means, advice=advice)
    return passed_check("slurm", "MaxArraySize", str(most), f"one sbatch submits a job array of up to {most} runs")


def _preemption(configuration: Configuration, partitions: Sequence[Configuration]) -> Check:
    if not has_preemption(configuration):
        return passed_check("slurm", "preemption", "none", "no job is preempted")
    mode = configuration["PreemptMode"]
    found = f"{configuration['PreemptType']}, {mode}"
    if not any(can_be_preempted(partition, configuration, partitions) for partition in partitions):
        return passed_check("slurm", "preemption", found, "no partition has jobs that another partition preempts")
    if "SUSPEND" in mode:
        means = "a preempted run is suspended and occupies memory; connections between its ranks may break"
        advice = "set PreemptMode=REQUEUE"
        return failed_check("slurm", "preemption", Grade.WARNING, found=found, means=means, advice=advice)
    signal = "SIGUSR2" if "send_user_signal" in configuration.get("PreemptParameters", "") else "SIGTERM"
    means = f"a preempted run gets {signal}, saves a checkpoint and continues in its next attempt"
    return passed_check("slurm", "preemption", found, means)


def _requeue(configuration: Configuration) -> Check:
    found = "on" if configuration.get("JobRequeue", "1") == "1" else "off"
    means = "jobs are submitted with --no-requeue: the service submits the next attempt itself"
    return passed_check("slurm", "requeue", found, means)


def _whole_nodes(select: str) -> Check:
    if not select.endswith("/linear"):
        return passed_check(
            "slurm", "SelectType", select or "not reported", "small runs share a node if the partition allows it"
        )
    means = "every job gets whole nodes, so a small run wastes most of a node"
    advice = "set SelectType=select/cons_tres, or use `pack` for small runs"
    return failed_check("slurm", "SelectType", Grade.NOTE, found=select, means=means, advice=advice)


def _processes(tracking: str) -> Check:
    if tracking.endswith("/cgroup"):
        return passed_check("slurm", "ProctrackType", tracking, "all processes of a run end with its job")
    means = "a process that leaves its process group may outlive its job and occupy memory"
    advice = "set ProctrackType=proctrack/cgroup"
    return failed_check(
        "slurm", "ProctrackType", Grade.NOTE, found=tracking or "not reported", means=means, advice=advice
    )


def _partition(partition: Configuration, configuration: Configuration, partitions: Sequence[Configuration]) -> Check:
    name, state = partition.get("PartitionName", "?"), partition.get("State", "")
    grace_s, wait_s = _seconds(partition.get("GraceTime", "0")), _seconds(configuration.get("KillWait", "30"))
    found = f"{state}, up to {partition.get('MaxTime', '?')}, GraceTime {grace_s} s, KillWait {wait_s} s"
    if state != "UP":
        advice = f"run scontrol update PartitionName={name} State=UP, or use another `partition` in the runs' resources"
        means = "runs in this partition wait, or are refused"
        return failed_check("slurm", f"partition {name}", Grade.WARNING, found=found, means=means, advice=advice)
    if not can_be_preempted(partition, configuration, partitions):
        return passed_check("slurm", f"partition {name}", found, "runs can start here and are not preempted")
    if (longest_s := max(grace_s, wait_s)) >= SAVE_TIME_S:
        return passed_check(
            "slurm", f"partition {name}", found, f"a preempted run has {longest_s} s to save a checkpoint"
        )
    means = f"a preempted run is killed {longest_s} s after its signal, but its ranks may need {SAVE_TIME_S} s"
    means += " to save a checkpoint; the steps since the last checkpoint are then repeated"
    advice = f"set GraceTime={SAVE_TIME_S} for the partition, or KillWait={SAVE_TIME_S}"
    return failed_check("slurm", f"partition {name}", Grade.WARNING, found=found, means=means, advice=advice)


def _seconds(text: str) -> int:
    """Return 30 for "30 sec" and 90 for "00:01:30"."""
    if ":" in text:
        seconds = 0
        for part in re.findall(r"\d+", text):
            seconds = 60 * seconds + int(part)
        return seconds
    return parse_number(text)
