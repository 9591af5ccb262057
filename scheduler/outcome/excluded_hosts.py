"""Excluded hosts: hosts on which a run failed. Its next attempts avoid them while enough other hosts are in service."""

import re
from collections.abc import Sequence

from contract.api.cluster_report import ClusterReport, Node
from contract.spec.any_run import read_run
from contract.spec.resources import Slurm
from scheduler.clusters.slurm.job_ids import parse_hosts
from scheduler.outcome.facts import RunFacts

OUT_OF_SERVICE = ("down", "drain", "fail", "error", "unknown", "reboot")
CONJUNCTION = re.compile(r"[\w.&-]+")  # a constraint that asks for all its features; any other one counts as none


def next_excluded(run: RunFacts, report: ClusterReport | None, *, a_host_failed: bool) -> list[str]:
    """Return the hosts to exclude, the newest at the end; where too few hosts would remain, the oldest return.

    Slurm refuses a job that excludes all hosts, and a job that waits for its own exclusions might wait for ever.
    """
    if not (a_host_failed or run.excluded):
        return []
    failed = failed_hosts(run.job.hosts, report) if a_host_failed else []
    hosts = [*(host for host in run.excluded if host not in failed), *failed]
    need = read_run(run.spec).resources
    if isinstance(need, Slurm):  # Slurm refuses a job that asks for a host and excludes it
        asked = parse_hosts(str(need.options.get("nodelist") or ""))
        hosts = [host for host in hosts if host not in asked]
    if not report or not isinstance(need, Slurm):
        return hosts
    serving = {node.name for node in _suitable(report, need) if not _is_out(node)}
    while hosts and len(serving.difference(hosts)) < need.nodes:
        del hosts[0]
    return hosts


def failed_hosts(hosts: Sequence[str], report: ClusterReport | None) -> Sequence[str]:
    """Return the job's only host, or those of its hosts that its cluster reports as out of service."""
    if len(hosts) <= 1:
        return hosts
    out = hosts_out_of_service(report) if report else set()
    return [host for host in hosts if host in out]


def hosts_out_of_service(report: ClusterReport) -> set[str]:
    """Return the hosts that take no job for now: failed, drained, or without an answer."""
    return {node.name for node in report.nodes if _is_out(node)}


def _suitable(report: ClusterReport, need: Slurm) -> list[Node]:
    """Return the nodes of the run's partition with the features that it asks for."""
    wanted = {part.name for part in report.select_partitions(need.partition)}
    if need.partition and not wanted:
        return []
    features = need.features.split("&") if need.features and CONJUNCTION.fullmatch(need.features) else []
    nodes = [node for node in report.nodes if not wanted or wanted.intersection(node.partitions)]
    return [node for node in nodes if set(features).issubset(node.features)]


def _is_out(node: Node) -> bool:
    return node.state.endswith("*") or node.state.lower().startswith(OUT_OF_SERVICE)
