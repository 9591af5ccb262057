"""Which partitions of a Slurm other jobs can preempt, by its configuration."""

from collections.abc import Mapping, Sequence

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
