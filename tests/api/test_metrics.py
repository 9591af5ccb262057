"""Tests of the Prometheus metrics: states of runs, calls of clusters, rate limits."""

from fastapi.testclient import TestClient
from sqlalchemy import Engine

from scheduler.clusters.rate_limit import CALLS_PER_MINUTE, Priority
from scheduler.clusters.shared_rate_limit import SharedRateLimit


def test_calls_and_states_are_told(client: TestClient, sqlite_engine: Engine) -> None:
    budget = SharedRateLimit(sqlite_engine, "slurm")
    assert budget.acquire(Priority.FOLLOW_UP)
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
    ):
        assert line in lines
