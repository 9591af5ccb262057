"""A Slurm cluster as it describes itself: partitions, nodes, queue."""

from contract.api.cluster_report import ClusterReport, Node, Partition, QueuedJob
from scheduler.clusters.cluster import BusyError, DoubtError
from scheduler.clusters.rate_limit import Urgency
from scheduler.clusters.slurm.commands import EVERYWHERE, Commands, rows

CALLS = 2  # that a report takes


def report(commands: Commands, urgency: Urgency, *, linear: bool = False) -> ClusterReport:
    """Ask sinfo and squeue once each; raise BusyError unless both may be asked, DoubtError when one does not answer.

    `linear`: the cluster gives whole nodes (select/linear) wherever a partition does not say otherwise.
    """
    if commands.gate.free(urgency) < CALLS:  # else sinfo would take each call as it comes free
        raise BusyError("this minute's calls of Slurm are spent")
    sinfo = commands.ask("sinfo", *EVERYWHERE, "-h", "-N", "-o", "%N|%P|%a|%l|%h|%T|%C|%m|%G|%f", urgency=urgency)
    squeue = commands.ask("squeue", *EVERYWHERE, "-h", "-o", "%i|%u|%P|%T|%D|%M|%R|%j", urgency=urgency)
    try:
        nodes = _nodes(listed := rows(sinfo, 10))
        return ClusterReport(partitions=_partitions(listed, nodes, linear=linear), nodes=nodes, queue=_queue(squeue))
    except ValueError as error:
        raise DoubtError(f"sinfo and squeue: this is no description of a cluster: {error}") from error


def _nodes(listed: list[list[str]]) -> list[Node]:
    """One node per name; sinfo gives a line for each of its partitions."""
    nodes: dict[str, Node] = {}
    for name, partition, _, _, _, state, cpus, memory, gres, features in listed:
        busy, _, _, total = cpus.split("/")  # allocated/idle/other/total
        before = nodes[name].partitions if name in nodes else []
        nodes[name] = Node(
            name=name,
            state=state,
            partitions=[*before, partition.rstrip("*")],
            cpus=int(total),
            busy_cpus=int(busy),
            memory_mb=int(memory.rstrip("+")),
            gres=_plain(gres),
            features=_plain(features).split(",") if _plain(features) else [],
        )
    return list(nodes.values())


def _partitions(listed: list[list[str]], nodes: list[Node], *, linear: bool) -> list[Partition]:
    spelled = {row[1]: (row[2], row[3], row[4]) for row in listed}  # "gpu*" is the default one
    partitions = []
    for name, (state, limit, shared) in spelled.items():
        plain = name.rstrip("*")
        mine = [node for node in nodes if plain in node.partitions]
        partitions.append(
            Partition(
                name=plain,
                is_default=name.endswith("*"),
                state=state,
                nodes=len(mine),
                idle_nodes=sum(node.state.startswith("idle") for node in mine),
                cpus=sum(node.cpus for node in mine),
                time_limit=limit,
                gres=", ".join(sorted({node.gres for node in mine if node.gres})),
                whole_nodes=shared == "EXCLUSIVE" or (linear and shared == "NO"),
            )
        )
    return partitions


def _queue(text: str) -> list[QueuedJob]:
    """The jobs of everybody; a name may have bars of its own and therefore comes last."""
    jobs = []
    for job_id, user, partition, state, nodes, elapsed, reason, name in rows(text, 8):
        jobs.append(
            QueuedJob(
                job_id=job_id,
                name=name,
                user=user,
                partition=partition,
                state=state,
                nodes=int(nodes),
                elapsed=elapsed,
                reason=reason.strip("()"),
            )
        )
    return jobs


def _plain(word: str) -> str:
    return "" if word == "(null)" else word
