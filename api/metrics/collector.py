"""The metrics that the database has: runs, periodic tasks, ingestion, and calls of the clusters' commands."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector
from sqlalchemy.orm import Session

from contract.lifecycle.state import State
from store import clusters, rate_limit, runs, ticks
from store.tables.base import now

Family = GaugeMetricFamily | CounterMetricFamily


class DatabaseCollector(Collector):
    """Reads the metrics in the transaction of one request."""

    def __init__(self, db: Session) -> None:
        self._db = db

    def collect(self) -> Iterator[Family]:
        """Yield the metrics."""
        counts = runs.counts(self._db)
        in_state = GaugeMetricFamily("bigbatch_runs", "runs in each state", labels=["state"])
        for state in State:
            in_state.add_metric([state], counts.get(state, 0))
        yield in_state
        yield from self._ticks()
        yield from self._calls()
        yield from self._rates()
        yield from self._kinds()
        age = _gauge("cluster_report_age_seconds", "seconds since a cluster was last asked for a report", "cluster")
        for row in clusters.reports(self._db):
            age.add_metric([row.kind], max(0.0, (now() - row.asked_at).total_seconds()))
        yield age

    def _ticks(self) -> Iterator[Family]:
        rows, present = ticks.all_ticks(self._db), now()
        age = _gauge("tick_age_seconds", "seconds since a periodic task last succeeded, stored every 10 s", "tick")
        period = _gauge("tick_period_seconds", "period of a periodic task", "tick")
        count = _counter("tick_runs", "completed runs of a periodic task", "tick")
        failed = _counter("tick_failures", "failed runs of a periodic task", "tick")
        seconds = _counter("tick_seconds", "seconds that the completed runs took", "tick")
        for row in rows:
            age.add_metric([row.name], max(0.0, (present - row.succeeded_at).total_seconds()))
            period.add_metric([row.name], row.period_s)
            count.add_metric([row.name], row.runs)
            failed.add_metric([row.name], row.failures)
            seconds.add_metric([row.name], row.seconds)
        yield from (age, period, count, failed, seconds)
        ingested = [row for row in rows if row.name == "ingest"]
        reports = _counter("ingested_reports", "new parts of runs' files whose points were stored")
        lag = _counter(
            "ingestion_lag_seconds", "sum of the ages of the first points of these parts when they were stored"
        )
        for row in ingested:
            reports.add_metric([], row.reports)
            lag.add_metric([], row.lag_s)
        yield from (reports, lag)

    def _calls(self) -> Iterator[Family]:
        labels = ("cluster", "command", "outcome")
        count = _counter("cluster_calls", "calls of a cluster's commands", *labels)
        seconds = _counter("cluster_call_seconds", "seconds that these calls took", *labels)
        for row in rate_limit.call_counts(self._db):
            values = [row.cluster, row.command, row.outcome]
            count.add_metric(values, row.count)
            seconds.add_metric(values, row.seconds)
        yield from (count, seconds)

    def _rates(self) -> Iterator[Family]:
        used = _gauge("cluster_calls_last_minute", "calls of the last 60 s", "cluster")
        allowed = _gauge("cluster_calls_per_minute_allowed", "calls that any 60 s may hold", "cluster")
        for cluster, (count, most) in rate_limit.used_slots(self._db).items():
            used.add_metric([cluster], count)
            allowed.add_metric([cluster], most)
        yield from (used, allowed)

    def _kinds(self) -> Iterator[Family]:
        labels = ("cluster", "kind")
        reserved = _gauge("cluster_calls_reserved", "calls of any 60 s that only this kind may make", *labels)
        used = _gauge("cluster_kind_calls_last_minute", "calls of this kind in the last 60 s", *labels)
        age = _gauge("cluster_kind_age_seconds", "seconds since the last call of this kind", *labels)
        for use in rate_limit.kind_uses(self._db):
            values = [use.cluster, use.kind]
            reserved.add_metric(values, use.reserve)
            used.add_metric(values, use.used)
            if use.age_s is not None:
                age.add_metric(values, use.age_s)
        yield from (reserved, used, age)


def _gauge(name: str, meaning: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"bigbatch_{name}", meaning, labels=labels)


def _counter(name: str, meaning: str, *labels: str) -> CounterMetricFamily:
    return CounterMetricFamily(f"bigbatch_{name}", meaning, labels=labels)
