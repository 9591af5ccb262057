"""`bigbatch clusters`: what each cluster last said of itself."""

from collections.abc import Iterator, Sequence

from bigbatch.client import Client
from bigbatch.commands.submit import Json
from bigbatch.terminal.message import say
from bigbatch.terminal.output import age, print_json, print_table
from contract.api.responses import ClusterView


def clusters(as_json: Json = False) -> None:
    """Show the clusters: their partitions, how much is idle, and how long their queues are."""
    with Client() as client:
        found = client.clusters()
    if as_json:
        print_json(found)
        return
    heads = ("cluster", "partition", "state", "idle nodes", "cpus", "time limit", "gres", "queue", "asked")
    print_table(heads, [row for cluster in found for row in _rows(cluster)])
    for cluster in found:
        if cluster.error:
            say(f"{cluster.kind}: {cluster.error}")


def _rows(cluster: ClusterView) -> Iterator[Sequence[str]]:
    asked = f"{age(cluster.asked_at)} ago"
    if not cluster.report:
        yield cluster.kind, "-", "no answer yet", "", "", "", "", "", asked
        return
    for part in cluster.report.partitions:
        name = f"{part.name} (default)" if part.is_default else part.name
        queued = sum(job.partition == part.name for job in cluster.report.queue)
        nodes = f"{part.idle_nodes}/{part.nodes}"
        yield (
            cluster.kind, name, part.state, nodes, str(part.cpus), part.time_limit, part.gres, str(queued), asked,
        )  # fmt: skip
