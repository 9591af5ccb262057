"""Reports of a Slurm and of this machine: nodes with jobs, a queue with reasons and places."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import update
from sqlalchemy.orm import Session

from contract.api.cluster_report import ClusterReport, Node, Partition, QueuedJob
from contract.lifecycle.pending_reason import PendingReason
from store import clusters
from store.tables.base import now
from store.tables.clusters import Cluster
from store.tables.runs import Job

OTHERS = "bigbatch-000010-1"  # named as a job of this service, and none of it


def report_clusters(db: Session, running: Job, pending: Job | None) -> None:
    """Store the newest reports; `running` and `pending` are jobs of this service."""
    names = [f"cpu-{number}" for number in range(1, 7)] + ["gpu-1", "gpu-2"]
    states = ["allocated"] * 3 + ["mixed", "idle", "idle", "allocated", "down"]
    on_nodes = {name: ["4219"] for name in names[:3]} | {"cpu-4": ["4219", "4302"], "gpu-1": ["4302"]}
    nodes = [
        Node(
            name=name,
            state=state,
            partitions=["gpu" if name.startswith("gpu") else "cpu"],
            cpus=32,
            busy_cpus={"allocated": 32, "mixed": 12}.get(state, 0),
            memory_mb=192_000,
            gres="gpu:4" if name.startswith("gpu") else "",
            features=["knl", "quad"] if name == "cpu-6" else [],
            jobs=on_nodes.get(name, []),
        )
        for name, state in zip(names, states, strict=True)
    ]
    queue = [
        _job("4219", running.name, 900, reason="cpu-[1-4]"),
        _job("4302", "protein folding", 800, user="bob", reason="cpu-4,gpu-1"),
        _job("4303", "protein folding", 700, PendingReason.RESOURCES, user="bob", reason="Resources"),
        _job("4304", OTHERS, 600, PendingReason.PRIORITY, user="eve", reason="Priority"),
        _job("4305", "held", 0, PendingReason.HELD_BY_USER, user="bob", reason="JobHeldUser"),
    ]
    if pending:
        queue.append(_job("4220", pending.name, 500, PendingReason.PRIORITY, reason="Priority"))
    partitions = [_partition("cpu", 6, 2, default=True), _partition("gpu", 2, 0)]
    clusters.store_report(db, "slurm", ClusterReport(partitions=partitions, nodes=nodes, queue=queue), None)
    size: dict[str, Any] = {"cpus": 8, "busy_cpus": 1, "memory_mb": 32_000}
    own = Node(name="desk", state="idle", partitions=["local"], gres="", features=[], **size)
    local = ClusterReport(partitions=[_partition("local", 1, 1, default=True)], nodes=[own], queue=[])
    clusters.store_report(db, "local", local, None)
    # no scheduler reports after this one, and no test takes so long that the reports get late
    db.execute(update(Cluster).values(asked_at=now() + timedelta(hours=2)))


def _job(
    job_id: str, name: str, priority: int, waits: PendingReason | None = None, *, user: str = "ada", reason: str
) -> QueuedJob:
    return QueuedJob(
        job_id=job_id,
        name=name,
        user=user,
        partition="cpu",
        state="PENDING" if waits else "RUNNING",
        nodes=4,
        elapsed="0:00" if waits else "21:07",
        reason=reason,
        priority=priority,
        pending_reason=waits,
        predicted_start=datetime(2026, 11, 27, 13, 40, tzinfo=UTC) if waits is PendingReason.RESOURCES else None,
    )


def _partition(name: str, nodes: int, idle: int, *, default: bool = False) -> Partition:
    gres = "gpu:4" if name == "gpu" else ""
    return Partition(
        name=name,
        is_default=default,
        state="up",
        nodes=nodes,
        idle_nodes=idle,
        cpus=32 * nodes,
        time_limit="1-00:00:00",
        gres=gres,
    )
