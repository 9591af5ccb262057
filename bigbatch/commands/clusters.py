"""`bigbatch clusters`: the newest report of each cluster."""

from collections.abc import Iterator, Sequence

from bigbatch.client import Client
from bigbatch.commands.options import Json
from bigbatch.terminal.message import print_message
from bigbatch.terminal.output import format_age, print_json, print_table
from contract.api.service import ClusterView


def clusters(as_json: Json = False) -> None:
    """Show the partitions, idle nodes and queue lengths of all clusters."""
    with Client() as client:
        found = client.clusters()
    if as_json:
        print_json(found)
        return
    heads = ("cluster", "partition", "state", "idle nodes", "cpus", "time limit", "gres", "queue", "updated")
    print_table(heads, [row for cluster in found for row in _rows(cluster)])
    for cluster in found:
        if cluster.error:
            print_message(f"{cluster.kind}: {cluster.error}")


def _rows(cluster: ClusterView) -> Iterator[Sequence[str]]:
    updated = f"{format_age(cluster.asked_at)} ago"
    if not cluster.report:
        yield cluster.kind, "-", "no answer yet", "", "", "", "", "", updated
        return
    for part in cluster.report.partitions:
        name = f"{part.name} (default)" if part.is_default else part.name
        queued = [job for job in cluster.report.queue if job.partition == part.name]
        queue = f"{len(queued)}, {sum(job.is_own for job in queued)} of this service" if queued else "0"
        nodes = f"{part.idle_nodes}/{part.nodes}"
        yield (
            cluster.kind, name, part.state, nodes, str(part.cpus), part.time_limit, part.gres, queue, updated,
        )  # fmt: skip
