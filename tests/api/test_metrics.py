"""Tests of the Prometheus metrics: states of runs, calls of clusters, rate limits."""

from datetime import timedelta

from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import Engine

from contract.lifecycle.state import State
from scheduler.clusters.rate_limit import CALLS_PER_MINUTE, Priority
from scheduler.clusters.shared_rate_limit import SharedRateLimit
from store import clusters, ticks
from store.session import transaction
from store.tables.clusters import Cluster
from store.ticks import TickCounts
from tests.testing.api import SPEC, post


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
        'bigbatch_runs{state="queued"} 0.0',
        'bigbatch_cluster_calls_total{cluster="slurm",command="squeue",outcome="ok"} 1.0',
        'bigbatch_cluster_call_seconds_total{cluster="slurm",command="squeue",outcome="ok"} 0.25',
        'bigbatch_cluster_calls_last_minute{cluster="slurm"} 1.0',
        f'bigbatch_cluster_calls_per_minute_allowed{{cluster="slurm"}} {CALLS_PER_MINUTE:.1f}',
        'bigbatch_cluster_calls_reserved{cluster="slurm",kind="report"} 2.0',
        'bigbatch_cluster_calls_reserved{cluster="slurm",kind="submit_one"} 1.0',
        'bigbatch_cluster_kind_calls_last_minute{cluster="slurm",kind="follow_up"} 1.0',
        'bigbatch_cluster_kind_calls_last_minute{cluster="slurm",kind="report"} 0.0',
    ):
        assert line in lines
    ages = {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if "age_seconds{" in line)}
    assert 500.0 <= ages.pop('bigbatch_cluster_report_age_seconds{cluster="slurm"}') < 600.0
    (only,) = ages.items()
    assert only[0] == 'bigbatch_cluster_kind_age_seconds{cluster="slurm",kind="follow_up"}'
    assert 0.0 <= only[1] < 60.0


def test_prometheus_reads_the_text_whatever_a_label_has(client: TestClient, sqlite_engine: Engine) -> None:
    """Forces the fault: a name with a quote, a backslash and a newline, which end a label or a line."""
    hostile = 'slurm "a" \\n \\ b\n bigbatch_runs{state="done"} 99'
    SharedRateLimit(sqlite_engine, hostile).record("squeue", "ok", 0.25)
    families = {family.name: family for family in text_string_to_metric_families(client.get("/metrics").text)}
    (call,) = families["bigbatch_cluster_calls"].samples
    assert call.labels == {"cluster": hostile, "command": "squeue", "outcome": "ok"}
    states = {sample.labels["state"]: sample.value for sample in families["bigbatch_runs"].samples}
    assert states == dict.fromkeys(State, 0.0)
    assert all(family.documentation for family in families.values())


def lines_of(client: TestClient) -> dict[str, float]:
    """The values of all metrics, by name and labels."""
    lines = [line for line in client.get("/metrics").text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_ticks_and_the_lag_of_ingestion_are_counted_over_all_workers(both: TestClient, engine: Engine) -> None:
    with transaction(engine) as db:
        ticks.store_success(db, "ingest", 1.0, TickCounts(runs=3, failures=1, seconds=0.5, reports=2, lag_s=0.75))
        ticks.store_success(db, "poll", 2.0)
    with transaction(engine) as db:  # by another worker
        ticks.store_success(db, "ingest", 1.0, TickCounts(runs=1, seconds=0.25, reports=2, lag_s=0.25))
    found = lines_of(both)
    assert found['bigbatch_tick_runs_total{tick="ingest"}'] == 4
    assert found['bigbatch_tick_failures_total{tick="ingest"}'] == 1
    assert found['bigbatch_tick_seconds_total{tick="ingest"}'] == 0.75
    assert (found["bigbatch_ingested_reports_total"], found["bigbatch_ingestion_lag_seconds_total"]) == (4, 1.0)
    assert found['bigbatch_tick_runs_total{tick="poll"}'] == 0
    assert found['bigbatch_tick_period_seconds{tick="poll"}'] == 2
    assert 0 <= found['bigbatch_tick_age_seconds{tick="ingest"}'] < 60


def test_requests_are_measured_by_operation_and_status(client: TestClient) -> None:
    assert post(client, SPEC).status_code == 201
    for run_id in (1, 1, 77):
        client.get(f"/api/v1/runs/{run_id}")
    client.get("/api/v1/no/such/path")
    found = lines_of(client)
    labels = 'operation="get_run",status="%d"'
    counts = [found[f"bigbatch_api_request_seconds_count{{{labels % status}}}"] for status in (200, 404)]
    assert counts == [2, 1]
    assert 0 < found[f"bigbatch_api_request_seconds_sum{{{labels % 200}}}"] < 60
    assert not [name for name in found if "no/such" in name], "a label may not be any text of a client"
