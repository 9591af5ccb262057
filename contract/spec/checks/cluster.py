"""Checks of requested resources against the stored report of a cluster.

A report can be incomplete: Slurm may hide powered-down cloud nodes, and an administrator may add nodes. So a caller
lets the user skip these checks, and a node is ignored for a resource that the report does not state.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from contract.api.cluster_report import ClusterReport, Node, Partition
from contract.spec.checks.memory import GIB, ReplicaMemory, format_bytes
from contract.spec.checks.packing import count_devices
from contract.spec.resources import Resources, Slurm
from contract.validation import ValidationIssue

UNSTATED_MB = 1  # RealMemory of a node whose configuration does not state it
MIB = 2**20


def check_cluster(
    need: Resources, report: ClusterReport, *, replica: ReplicaMemory | None = None
) -> Iterator[ValidationIssue]:
    """Yield an issue for each field of the resources that the cluster cannot satisfy, with the calculation.

    `replica`: the memory of each rank's replica; None if not known. A report without nodes gives no issue.
    """
    if isinstance(need, Slurm):
        absent = _absent_partition(need.partition, report)
        partitions = report.select_partitions(need.partition)
        if absent:
            yield absent
        elif partitions and report.nodes:
            yield from _check_partitions(need, partitions, report, replica)
    elif report.nodes and replica:
        yield from _check_replicas(need, report.nodes, "this machine", replica)


def _absent_partition(partition: str | None, report: ClusterReport) -> ValidationIssue | None:
    known = [part.name for part in report.partitions]
    for name in partition.split(",") if partition and known else []:
        if name not in known:
            message = f"the cluster has no partition {name}; it has {_listed(known)}"
            return ValidationIssue(path="resources.partition", message=message)
    return None


def _check_partitions(
    need: Slurm, partitions: Sequence[Partition], report: ClusterReport, replica: ReplicaMemory | None
) -> Iterator[ValidationIssue]:
    """Yield the issues of a request for one of `partitions`; a job gets all its nodes from one partition."""
    names = {part.name for part in partitions}
    where = f"partition {_listed([part.name for part in partitions])}"
    yield from _check_minutes(need, partitions, where)
    nodes = [node for node in report.nodes if names & set(node.partitions)]
    if not nodes:
        return
    issues = [
        *_check_cpus(need, nodes, where),
        *_check_memory(need, nodes, where),
        *_check_gres(need, nodes, where),
        *_check_features(need, nodes, where),
    ]
    yield from issues
    if not issues:
        yield from _check_nodes(need, nodes, partitions, where)
        if not need.devices:  # with devices, most of a replica's memory is not the node's
            yield from _check_replicas(need, nodes, where, replica)


def partition_limits(need: Slurm, report: ClusterReport) -> dict[str, int]:
    """Return the largest `minutes` and `memory_gb` that the run's partitions have, as far as the report states them."""
    partitions = report.select_partitions(need.partition)
    names = {part.name for part in partitions}
    minutes = [_minutes(part.time_limit) for part in partitions]
    memory_mb = [node.memory_mb for node in report.nodes if names & set(node.partitions)]
    known = [limit for limit in minutes if limit is not None]
    limits = {"minutes": max(known)} if known and len(known) == len(minutes) else {}
    return limits | ({"memory_gb": max(memory_mb) // 1024} if max(memory_mb, default=0) > UNSTATED_MB else {})


def _check_minutes(need: Slurm, partitions: Sequence[Partition], where: str) -> Iterator[ValidationIssue]:
    limits = [_minutes(part.time_limit) for part in partitions]
    known = [limit for limit in limits if limit is not None]
    if len(known) == len(limits) and need.minutes > max(known):
        message = f"{need.minutes:,} minutes; {where} allows {max(known):,}"
        yield ValidationIssue(path="resources.minutes", message=message)


def _minutes(limit: str) -> int | None:
    """Return the minutes of Slurm's [days-][hours:]minutes:seconds, rounded up; None for no limit or another text."""
    found = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)", limit)
    if not found:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return 60 * (24 * days + hours) + minutes + (seconds > 0)


def _check_cpus(need: Slurm, nodes: Sequence[Node], where: str) -> Iterator[ValidationIssue]:
    asked, most = need.node_ranks * need.rank_cpus, max(node.cpus for node in nodes)
    if asked > most:
        path = "many_core.cpus" if need.many_core else "ranks_per_node" if need.rank_cpus == 1 else "cpus_per_rank"
        message = (
            f"{need.node_ranks} ranks x {need.rank_cpus} cpus = {asked:,} cpus per node; {where} has at most {most}"
        )
        yield ValidationIssue(path=f"resources.{path}", message=message)


def _check_memory(need: Slurm, nodes: Sequence[Node], where: str) -> Iterator[ValidationIssue]:
    most = max(_memory_mb(node) for node in nodes)
    if need.memory_gb and need.memory_gb * 1024 > most:
        message = (
            f"{need.memory_gb:,} GB x 1,024 = {need.memory_gb * 1024:,} MB; a node of {where} has at most {most:,}"
        )
        yield ValidationIssue(path="resources.memory_gb", message=message)


def _check_gres(need: Slurm, nodes: Sequence[Node], where: str) -> Iterator[ValidationIssue]:
    if need.devices and not any(_has_gres(need, node) for node in nodes):
        present = sorted({node.gres for node in nodes if node.gres})
        has = f"its nodes have {_listed(present)}" if present else "its nodes have no devices"
        field, asked = "gres", str(need.devices)
        if need.gpus_per_rank:
            field, asked = "gpus_per_rank", f"{need.gpus_per_rank} x {need.node_ranks} ranks = {need.devices}"
        yield ValidationIssue(path=f"resources.{field}", message=f"no node of {where} has {asked}; {has}")


def _check_features(need: Slurm, nodes: Sequence[Node], where: str) -> Iterator[ValidationIssue]:
    if need.features and not any(_has_features(need, node) for node in nodes):
        present = sorted({feature for node in nodes for feature in node.features})
        has = f"its nodes have {_listed(present)}" if present else "its nodes have no features"
        path = "constraint" if need.constraint else "many_core"
        yield ValidationIssue(path=f"resources.{path}", message=f"no node of {where} has {need.features}; {has}")


def _check_nodes(
    need: Slurm, nodes: Sequence[Node], partitions: Sequence[Partition], where: str
) -> Iterator[ValidationIssue]:
    """Yield an issue if no partition has enough nodes that satisfy the whole request."""
    fits: tuple[Callable[[Slurm, Node], bool], ...] = (_has_cpus, _has_memory, _has_gres, _has_features)
    suitable = [node for node in nodes if all(fit(need, node) for fit in fits)]
    most = max(sum(part.name in node.partitions for node in suitable) for part in partitions)
    if need.nodes > most:
        total = max(sum(part.name in node.partitions for node in nodes) for part in partitions)
        message = f"{need.nodes:,}; {where} has {most:,}" + (f" suitable of {total:,}" if total > most else "")
        yield ValidationIssue(path="resources.nodes", message=message)


def _check_replicas(
    need: Resources, nodes: Sequence[Node], where: str, replica: ReplicaMemory | None
) -> Iterator[ValidationIssue]:
    """Yield an issue if the replicas of a node, without activations, exceed the request or the largest node."""
    memory_bytes = max(_memory_mb(node) for node in nodes) * MIB
    if isinstance(need, Slurm) and need.memory_gb:
        memory_bytes, where = need.memory_gb * GIB, "the request"
    if replica and replica.total_bytes(need.node_ranks) > memory_bytes:
        message = f"the replicas of a node need {replica.describe(need.node_ranks)}"
        message += f"; {where} has at most {format_bytes(memory_bytes)} per node"
        yield ValidationIssue(path="model", message=message)


def _has_cpus(need: Slurm, node: Node) -> bool:
    return node.cpus >= need.node_ranks * need.rank_cpus


def _has_memory(need: Slurm, node: Node) -> bool:
    return _memory_mb(node) >= (need.memory_gb or 0) * 1024


def _memory_mb(node: Node) -> float:
    return node.memory_mb if node.memory_mb > UNSTATED_MB else float("inf")


def _has_gres(need: Slurm, node: Node) -> bool:
    asked, has = count_devices(_plain_gres(need.devices or "")), count_devices(_plain_gres(node.gres))
    return all(has[name] >= count for name, count in asked.items())


def _plain_gres(gres: str) -> str:
    """Return the request in sinfo's notation: "gres:" is optional, names are not case-sensitive."""
    plain = re.sub(r"\bgres:", "", gres.lower())
    return "" if plain == "none" else re.sub(r"\b(\d+)k\b", lambda found: str(int(found[1]) * 1024), plain)


def _has_features(need: Slurm, node: Node) -> bool:
    """Return whether the node can satisfy the constraint; with other operators than & and "," any one name counts."""
    text = need.features or ""
    names = [name for name in re.split(r"[&|,()\[\]]", text) if name and not name.startswith("*")]
    is_plain = not set("|()[]*@") & set(text)
    has = [name.split("*")[0].split("@")[0] in node.features for name in names]
    return all(has) if is_plain else any(has)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
