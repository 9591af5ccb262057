"""`bigbatch clusters`: the newest report of each cluster, and the nodes on which attempts failed."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.commands.options import Json
from bigbatch.terminal.message import print_message
from bigbatch.terminal.output import format_age, print_json, print_table
from contract.api.node_failures import NodeFailureReport, NodeFailures
from contract.api.service import ClusterView

DAYS = 30


def clusters(
    failures: Annotated[
        bool, typer.Option("--failures", help="Show the nodes on which attempts failed in the last 30 days.")
    ] = False,
    *,
    as_json: Json = False,
) -> None:
    """Show the partitions, idle nodes and queue lengths of all clusters, or the failures on their nodes."""
    with Client() as client:
        if failures:
            _show_failures(client.node_failures(DAYS), as_json=as_json)
            return
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
        queued = [job for job in cluster.report.queue if job.is_in(part.name)]
        size, own = sum(job.tasks for job in queued), sum(job.tasks for job in queued if job.is_own)
        queue = f"{size}, {own} of this service" if queued else "0"
        nodes = ", ".join(
            [f"{part.idle_nodes}/{part.nodes}", *(f"{n} {word}" for word, n in part.out_of_service.items())]
        )
        yield (
            cluster.kind, name, part.state, nodes, str(part.cpus), part.time_limit, part.gres, queue, updated,
        )  # fmt: skip


def _show_failures(found: NodeFailureReport, *, as_json: bool) -> None:
    if as_json:
        print_json(found)
    elif not found.nodes:
        print_message(f"no attempt failed on a known node in the last {DAYS} days")
    else:
        heads = ("cluster", "node", "attempts", "node failures", "possible", "other causes", "last", "run", "reason")
        print_table(heads, [_failure_row(node) for node in found.nodes])
        if found.total > len(found.nodes):
            print_message(f"{found.total - len(found.nodes)} more nodes: GET /api/v1/clusters/node-failures?limit=1000")


def _failure_row(node: NodeFailures) -> Sequence[str]:
    counts = (node.attempts, node.node_failures, node.possible)
    causes = ", ".join(f"{count} {cause.replace('_', ' ')}" for cause, count in node.other_causes.items()) or "-"
    last = node.newest[0] if node.newest else None
    ago, run = (f"{format_age(last.at)} ago", str(last.run_id)) if last else ("-", "-")
    reason = (last.reason if last else None) or "-"
    return (node.cluster, node.node, *map(str, counts), causes, ago, run, reason)
