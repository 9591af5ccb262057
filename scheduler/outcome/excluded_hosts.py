"""Hosts that failed under a run: its next attempts do without them, as long as enough others are in service."""

import re
from collections.abc import Sequence

from sqlalchemy.orm import Session

from contract.api.cluster_report import ClusterReport, Node
from contract.spec.resources import Slurm
from contract.spec.run import RunSpec
from store import clusters
from store.tables import Run

OUT_OF_SERVICE = ("down", "drain", "fail", "error", "unknown", "reboot")
ALL_OF = re.compile(r"[\w.&-]+")  # a constraint that asks for all its features; others count as none


def excluded(db: Session, run: Run, *, a_host_failed: bool) -> list[str]:
    """The hosts to leave out, those that failed last at the end; where too few are left, the oldest come back.

    Slurm refuses a job that leaves out all there is, and one that waits for its own exclusions might wait for ever.
    """
    if not (a_host_failed or run.excluded):
        return []
    report = _report(db, run.cluster)
    failed = _failed(run, report) if a_host_failed else []
    hosts = [*(host for host in run.excluded if host not in failed), *failed]
    need = RunSpec.model_validate(run.spec).resources
    if not report or not isinstance(need, Slurm):
        return hosts
    serving = {node.name for node in _suitable(report, need) if not _is_out(node)}
    while hosts and len(serving.difference(hosts)) < need.nodes:
        del hosts[0]
    return hosts


def failed_hosts(db: Session, run: Run) -> Sequence[str]:
    """The run's only host, or those of which its cluster says that they are out of service."""
    return _failed(run, _report(db, run.cluster))


def _report(db: Session, cluster: str) -> ClusterReport | None:
    told = next((row.report for row in clusters.all_of(db) if row.kind == cluster), None)
    return ClusterReport.model_validate(told) if told else None


def _failed(run: Run, report: ClusterReport | None) -> Sequence[str]:
    if len(run.hosts) <= 1:
        return run.hosts
    bad = {node.name for node in report.nodes if _is_out(node)} if report else set()
    return [host for host in run.hosts if host in bad]


def _suitable(report: ClusterReport, need: Slurm) -> list[Node]:
    """The nodes on which the run may train, as far as its partition and features say."""
    wanted = {part.name for part in report.chosen(need.partition)}
    if need.partition and not wanted:
        return []
    features = need.features.split("&") if need.features and ALL_OF.fullmatch(need.features) else []
    there = [node for node in report.nodes if not wanted or wanted.intersection(node.partitions)]
    return [node for node in there if set(features).issubset(node.features)]


def _is_out(node: Node) -> bool:
    return node.state.endswith("*") or node.state.lower().startswith(OUT_OF_SERVICE)
