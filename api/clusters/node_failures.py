"""GET /clusters/node-failures: the nodes on which attempts failed, node failures and other causes apart."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from sqlalchemy.orm import Session

from api.database import Reading
from api.http.statuses import UNCHANGED, problems
from api.points.shared_answers import SharedAnswers
from api.sentences.reason import reason_sentence
from contract.api.node_failures import FailedAttempt, NodeFailureReport, NodeFailures
from contract.lifecycle.exit_cause import ExitCause
from store.lists import node_failures
from store.lists.node_failures import OTHER_FAILURES, EndCount, FailedJob
from store.tables.base import now

router = APIRouter(tags=["service"])
MOST_NEWEST = 5  # attempts that an answer has of one node
Days = Annotated[int, Query(ge=1, le=365, description="Length of the period until now, in days.", examples=[30])]
Limit = Annotated[int, Query(ge=1, le=1_000, description="Largest number of nodes.", examples=[100])]
NodeKey = tuple[str, str]  # the cluster and the node's name


@dataclass
class _Node:
    """What is known of one node, with the newest attempts first."""

    failed: list[FailedJob] = field(default_factory=list)
    possible: list[FailedJob] = field(default_factory=list)
    others: list[FailedJob] = field(default_factory=list)
    attempts: int = 0
    causes: dict[ExitCause, int] = field(default_factory=dict)


@router.get("/clusters/node-failures", responses=UNCHANGED | problems(503), response_model=NodeFailureReport)
def list_node_failures(db: Reading, request: Request, days: Days = 30, limit: Limit = 100) -> Response:
    """Return the nodes on which attempts failed lately, those with the most node failures first.

    The answer is made once a minute: it counts every attempt of the period.
    """
    since = now().replace(second=0, microsecond=0) - timedelta(days=days)
    shared: SharedAnswers = request.app.state.shared_answers
    key = (request.url.path, since, limit)
    return Response(shared.get(key, lambda: _report(db, since, limit).model_dump_json()), media_type="application/json")


def _report(db: Session, since: datetime, limit: int) -> NodeFailureReport:
    begin, is_complete = node_failures.first_counted(db, since)
    by_node, others = node_failures.failed_jobs(db, begin)
    nodes = _gather(node_failures.end_counts(db, begin), by_node, others)
    ordered = sorted(((key, node) for key, node in nodes.items() if _has_failures(node)), key=_order)
    return NodeFailureReport(
        since=begin,
        nodes=[_view(key, node) for key, node in ordered[:limit]],
        total=len(ordered),
        is_complete=is_complete and len(by_node) < node_failures.MOST_FAILURES,
    )


def _gather(
    counts: Iterable[EndCount], by_node: Sequence[FailedJob], others: Sequence[FailedJob]
) -> Mapping[NodeKey, _Node]:
    nodes: dict[NodeKey, _Node] = defaultdict(_Node)
    for cluster, name, cause, attempts in counts:
        node = nodes[cluster, name]
        node.attempts += attempts
        if cause in OTHER_FAILURES:
            node.causes[cause] = attempts
    for job, name, is_certain in _attribute(by_node):
        node = nodes[job.cluster, name]
        (node.failed if is_certain else node.possible).append(job)
    for job in others:
        for name in set(job.hosts):
            nodes[job.cluster, name].others.append(job)
    return nodes


def _attribute(jobs: Iterable[FailedJob]) -> Iterator[tuple[FailedJob, str, bool]]:
    """Yield each node failure, newest first, with the nodes that failed, or with all that may have.

    A node that later attempts of the run exclude failed in the last attempt that had the node.
    """
    attributed: set[tuple[int, str]] = set()
    for job in jobs:
        hosts = set(job.hosts)
        found = {name for name in hosts.intersection(job.excluded) if (job.run_id, name) not in attributed}
        failed = hosts if len(hosts) == 1 else found
        attributed.update((job.run_id, name) for name in failed)
        for name in sorted(failed or hosts):
            yield job, name, bool(failed)


def _has_failures(node: _Node) -> bool:
    return bool(node.failed or node.possible or node.causes)


def _order(item: tuple[NodeKey, _Node]) -> tuple[int, int, int, NodeKey]:
    key, node = item
    return -len(node.failed), -len(node.possible), -sum(node.causes.values()), key


def _view(key: NodeKey, node: _Node) -> NodeFailures:
    newest = [*node.failed, *node.possible, *node.others][:MOST_NEWEST]
    return NodeFailures(
        cluster=key[0],
        node=key[1],
        attempts=node.attempts,
        node_failures=len(node.failed),
        possible=len(node.possible),
        other_causes=node.causes,
        newest=[
            FailedAttempt(
                run_id=job.run_id,
                attempt=job.attempt,
                at=job.at,
                cause=job.cause,
                reason=reason_sentence(job.reason) if job.reason else None,
            )
            for job in newest
        ],
    )
