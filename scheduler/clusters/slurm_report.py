"""A Slurm cluster as it describes itself: partitions, nodes, queue."""

from contract.cluster import ClusterReport, Node, Partition, QueuedJob
from scheduler.clusters.slurm_commands import ask, rows


def report() -> ClusterReport:
    """Ask sinfo twice and squeue once; raise DoubtError when either does not answer."""
    nodes = _nodes(ask("sinfo", "-h", "-N", "-o", "%N|%P|%T|%C|%m|%G|%f"))
    partitions = _partitions(ask("sinfo", "-h", "-s", "-o", "%P|%a|%l|%F|%C"), nodes)
    queue = _queue(ask("squeue", "-h", "-o", "%i|%u|%P|%T|%D|%M|%R|%j"))
    return ClusterReport(partitions=partitions, nodes=nodes, queue=queue)


def _nodes(text: str) -> list[Node]:
    """One node per name; sinfo gives a line for each of its partitions."""
    nodes: dict[str, Node] = {}
    for name, partition, state, cpus, memory, gres, features in rows(text):
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


def _partitions(text: str, nodes: list[Node]) -> list[Partition]:
    partitions = []
    for name, state, limit, counts, cpus in rows(text):
        _, idle, _, total = counts.split("/")
        plain = name.rstrip("*")
        gres = sorted({node.gres for node in nodes if plain in node.partitions and node.gres})
        partitions.append(
            Partition(
                name=plain,
                is_default=name.endswith("*"),
                state=state,
                nodes=int(total),
                idle_nodes=int(idle),
                cpus=int(cpus.split("/")[3]),
                time_limit=limit,
                gres=", ".join(gres),
            )
        )
    return partitions


def _queue(text: str) -> list[QueuedJob]:
    """The jobs of everybody; a name may have bars of its own and therefore comes last."""
    jobs = []
    for line in text.splitlines():
        job_id, user, partition, state, nodes, elapsed, reason, name = line.split("|", 7)
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
