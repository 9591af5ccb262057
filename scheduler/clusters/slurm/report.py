"""The report of a Slurm cluster: partitions and nodes from sinfo, the queue from squeue."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime

from contract.api.cluster_report import ClusterReport, Node, Partition, QueuedJob
from scheduler.clusters.cluster import RateLimitedError, UnreadableReportError
from scheduler.clusters.rate_limit import Priority
from scheduler.clusters.slurm.commands import ALL_PARTITIONS, Commands, parse_rows
from scheduler.clusters.slurm.job_ids import parse_hosts, parse_tasks
from scheduler.clusters.slurm.pending_reasons import classify_pending_reason

CALLS = 2  # of a report: sinfo and squeue
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}")  # "N/A": the backfill has no plan yet
EXCLUSIVE, NOT_SHARED = "EXCLUSIVE", "NO"  # sinfo's words for OverSubscribe
PENDING = "PENDING"
OUT_OF_SERVICE = ("down", "drain", "fail", "error", "maint", "unk", "reboot", "reserved")  # how such states begin


def read_report(commands: Commands, priority: Priority, *, whole_nodes: bool = False) -> ClusterReport:
    """Call sinfo and squeue once each and return the report.

    Raise RateLimitedError unless both may be called, NoAnswerError if one does not answer, and UnreadableReportError.
    `whole_nodes`: the cluster allocates whole nodes (select/linear) unless a partition is configured otherwise.
    """
    if commands.rate_limit.count_free(priority) < CALLS:  # otherwise sinfo alone would use up each free call
        raise RateLimitedError("sinfo and squeue were not called: the rate limit of Slurm commands is reached")
    sinfo = commands.ask("sinfo", *ALL_PARTITIONS, "-h", "-N", "-o", "%N|%P|%a|%l|%h|%T|%C|%m|%G|%f", priority=priority)
    # a name may contain bars, so the name is the last column
    squeue = commands.ask("squeue", *ALL_PARTITIONS, "-h", "-o", "%i|%u|%P|%T|%D|%M|%S|%Q|%R|%j", priority=priority)
    rows = parse_rows(sinfo, 10)
    try:
        nodes = _parse_nodes(rows)
        partitions = _parse_partitions(rows, nodes, whole_nodes=whole_nodes)
        queue = _parse_queue(squeue)
    except ValueError as error:
        raise UnreadableReportError(f"sinfo and squeue print no report of a cluster: {error}") from error
    return ClusterReport(partitions=partitions, nodes=_with_jobs(nodes, queue), queue=queue)


def _parse_nodes(rows: list[list[str]]) -> list[Node]:
    """Return one node for each name; sinfo prints one line for each of the node's partitions."""
    nodes: dict[str, Node] = {}
    for name, partition, _, _, _, state, cpus, memory, gres, features in rows:
        busy, _, _, total = cpus.split("/")  # allocated/idle/other/total
        before = nodes[name].partitions if name in nodes else []
        nodes[name] = Node(
            name=name,
            state=state,
            partitions=[*before, partition.rstrip("*")],
            cpus=int(total),
            busy_cpus=int(busy),
            memory_mb=int(memory.rstrip("+")),
            gres=_omit_null(gres),
            features=_omit_null(features).split(",") if _omit_null(features) else [],
        )
    return list(nodes.values())


def _parse_partitions(rows: list[list[str]], nodes: list[Node], *, whole_nodes: bool) -> list[Partition]:
    by_name = {row[1]: (row[2], row[3], row[4]) for row in rows}  # "gpu*" is the default partition
    partitions = []
    for marked_name, (state, time_limit, shared) in by_name.items():
        name = marked_name.rstrip("*")
        members = [node for node in nodes if name in node.partitions]
        partitions.append(
            Partition(
                name=name,
                is_default=marked_name.endswith("*"),
                state=state,
                nodes=len(members),
                idle_nodes=sum(node.state.startswith("idle") for node in members),
                cpus=sum(node.cpus for node in members),
                time_limit=time_limit,
                gres=", ".join(sorted({node.gres for node in members if node.gres})),
                whole_nodes=shared == EXCLUSIVE or (whole_nodes and shared == NOT_SHARED),
                out_of_service=dict(Counter(word for node in members if (word := _word_of_outage(node.state)))),
            )
        )
    return partitions


def _word_of_outage(state: str) -> str | None:
    """Return the state of a node that takes no job, without Slurm's signs; None for one that does."""
    word = state.lower().rstrip("*~#!%$@^-+")
    return word if word.startswith(OUT_OF_SERVICE) else "not responding" if "*" in state else None


def _parse_queue(text: str) -> list[QueuedJob]:
    """Return the jobs of all users."""
    return [
        QueuedJob(
            job_id=job_id,
            name=name,
            user=user,
            partition=partition,
            state=state,
            nodes=int(nodes),
            tasks=len(parse_tasks(job_id.partition("_[")[2].rstrip("]"))) or 1,
            elapsed=elapsed,
            reason=reason.strip("()"),
            priority=int(priority) if priority.isdigit() else None,
            pending_reason=classify_pending_reason(reason).reason if state == PENDING else None,
            predicted_start=_moment(start) if state == PENDING else None,
        )
        for job_id, user, partition, state, nodes, elapsed, start, priority, reason, name in parse_rows(text, 10)
    ]


def _moment(text: str) -> datetime | None:
    """Return a time of squeue, which is in the local time of this host."""
    return datetime.fromisoformat(text).astimezone(UTC) if TIME.fullmatch(text) else None


def _with_jobs(nodes: Iterable[Node], queue: Iterable[QueuedJob]) -> list[Node]:
    """Return the nodes with the ids of the jobs on them; of a job that runs, squeue's reason is its nodes."""
    on_node: dict[str, list[str]] = defaultdict(list)
    for job in queue:
        for host in parse_hosts(job.reason) if job.state != PENDING else ():
            on_node[host].append(job.job_id)
    return [node.model_copy(update={"jobs": on_node[node.name]}) if node.name in on_node else node for node in nodes]


def _omit_null(text: str) -> str:
    return "" if text == "(null)" else text
