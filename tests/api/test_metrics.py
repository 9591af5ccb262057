"""Tests of the Prometheus metrics: states of runs, calls of clusters, rate limits."""

from datetime import timedelta

from fastapi.testclient import TestClient
from sqlalchemy import Engine

from scheduler.clusters.rate_limit import CALLS_PER_MINUTE, Priority
from scheduler.clusters.shared_rate_limit import SharedRateLimit
from store import clusters
from store.session import transaction
from store.tables import Cluster


def test_calls_and_states_are_told(client: TestClient, sqlite_engine: Engine) -> None:
    budget = SharedRateLimit(sqlite_engine, "slurm")
    assert budget.acquire(Priority.FOLLOW_UP)
    with transaction(sqlite_engine) as db:
        clusters.store_report(db, "slurm", None, None)
        db.get_one(Cluster, "slurm").asked_at -= timedelta(seconds=500)
    budget.record("squeue", "ok", 0.25)
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    for line in (
        'bigbatch_runs{state="queued"} 0',
        'bigbatch_cluster_calls_total{cluster="slurm",command="squeue",outcome="ok"} 1',
        'bigbatch_cluster_call_seconds_total{cluster="slurm",command="squeue",outcome="ok"} 0.250000',
        'bigbatch_cluster_calls_last_minute{cluster="slurm"} 1',
        f'bigbatch_cluster_calls_per_minute_allowed{{cluster="slurm"}} {CALLS_PER_MINUTE}',
        'bigbatch_cluster_calls_reserved{cluster="slurm",kind="report"} 2',
        'bigbatch_cluster_calls_reserved{cluster="slurm",kind="submit_one"} 1',
        'bigbatch_cluster_kind_calls_last_minute{cluster="slurm",kind="follow_up"} 1',
        'bigbatch_cluster_kind_calls_last_minute{cluster="slurm",kind="report"} 0',
    ):
        assert line in lines
    ages = {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if "age_seconds{" in line)}
    assert 500.0 <= ages.pop('bigbatch_cluster_report_age_seconds{cluster="slurm"}') < 600.0
    (only,) = ages.items()
    assert only[0] == 'bigbatch_cluster_kind_age_seconds{cluster="slurm",kind="follow_up"}'
    assert 0.0 <= only[1] < 60.0
