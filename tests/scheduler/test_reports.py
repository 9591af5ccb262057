"""The refresh tick: reports of a Slurm that is limited or does not answer."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine

from contract.api.cluster_report import ClusterReport
from scheduler.clusters.cluster import BackingOffError, HostFaultError, RateLimitedError
from scheduler.context import Context
from scheduler.ticks.refresh_clusters import refresh_clusters
from store import clusters
from store.session import snapshot, transaction
from store.tables.clusters import Cluster
from tests.testing.clusters import Far


@pytest.mark.parametrize(
    ("raised", "error"),
    [(RateLimitedError("limited"), None), (HostFaultError("munge"), None), (BackingOffError("away"), "away")],
)
def test_only_a_cluster_that_does_not_answer_explains_an_old_report(
    far_context: Context,
    far: Far,
    sqlite_engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    raised: Exception,
    error: str | None,
) -> None:
    """Forces the fault: no report can be made for minutes; a late report without an error is for GET /ready."""

    def limited(*, urgent: bool = False) -> ClusterReport:
        raise raised

    monkeypatch.setattr(far, "report", limited)
    with transaction(sqlite_engine) as db:
        clusters.store_report(db, "slurm", ClusterReport(partitions=[], nodes=[], queue=[]), None)
        db.get_one(Cluster, "slurm").asked_at -= timedelta(seconds=60)
    refresh_clusters(far_context)
    with snapshot(sqlite_engine) as db:
        assert db.get_one(Cluster, "slurm").error is None, "the controller may answer in a moment"
    with transaction(sqlite_engine) as db:
        db.get_one(Cluster, "slurm").asked_at -= timedelta(seconds=200)
        old = db.get_one(Cluster, "slurm").asked_at
    refresh_clusters(far_context)
    with snapshot(sqlite_engine) as db:
        row = db.get_one(Cluster, "slurm")
    assert (row.error, row.asked_at > old, row.report is not None) == (error, error is not None, True)
