"""A service in small: every tick in every stage of a run, and every GET of the API with each of its parameters."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import update

from contract.folder.events import Event, Failed, Finished, Paused, Points, Resumed, Saved
from contract.lifecycle.job_end import EndKind
from contract.metric_names import HELDOUT_ACCURACY
from contract.spec.expanded import Expanded
from scheduler.app import TICKS
from scheduler.clusters.cluster import gone
from scheduler.context import Context
from store import runs
from store.lifecycle import creation
from store.metrics import points
from store.session import transaction
from store.tables.base import now
from store.tables.clusters import Cluster
from store.tables.runs import Run
from tests.testing.clusters import Puppet
from tests.testing.events import STARTED, report
from tests.testing.runs import job_of, read
from tests.testing.snapshots import EMPTY_TREE, post_tree

# values of parameters that have no enumeration; a moment long ago matches all rows, one in the future none
MOMENTS = [datetime(2020, 1, 1, tzinfo=UTC).isoformat(), datetime(2150, 1, 1, tzinfo=UTC).isoformat()]
SAMPLES: Mapping[str, Sequence[object]] = {
    "before": [3],
    "after": [1],
    "name": ["loss"],
    "q": ["loss"],
    "tag": ["lars"],
    "owner": ["ada"],
    "step": [],  # an experiment without steps has none
    "project": ["vision"],
    "archived": ["true"],
    "skip_unknown": ["true"],
    "since": MOMENTS,
    "limit": [50],
    "skip": [0],
    "days": [30],
    "rank": [0],
    "search": ["loss"],
    "offset": [0],
    "path": ["train.py"],
    "against": [EMPTY_TREE],
    "other": [2],
    "attempt": [1],
    "from": [0],
    "to": [5_000],
    "buckets": [1],
    "run": [1],
    "figure": ["loss"],
    "target": [1],
    "baseline": [0],
    "where": ["state = failed and batch > 8 and not (tag = lars or last(loss) > 2)"],
    "sort": ["-best(loss), name, batch"],
    "column": ["batch"],
    "by": ["batch"],
    "experiment": [1],
}
WITHOUT_TABLES = ("/collectives/", "/kfac/", "/plans/")
ABSENT = ("/artifacts/", "/search", "/views/", "/reports/", "/schedules/")  # there are none of these


def run_every_tick(context: Context, specs: Sequence[Expanded], jobs: Puppet) -> list[int]:
    """Carry runs of these experiments through submission, training, a retry, a stop and several ends."""
    with transaction(context.engine) as db:
        run_ids = [run_id for spec in specs for run_id in creation.create(db, spec)[1]]
    _tick(context)
    active = list[int]()
    for _ in range(30):  # a launch has a time, in which a slow machine submits few runs
        _tick(context)
        active = [run_id for run_id in run_ids if read(context, run_id).current_job_id]
        if active[:6] == run_ids[:6]:
            break
    assert active[:6] == run_ids[:6], "the clusters take enough runs for every kind of end"
    measured = Points(attempt=1, at=1.0, step=1, values={"loss": 1.0, HELDOUT_ACCURACY: 0.5})
    saved = Saved(attempt=1, at=2.0, step=2, stall_s=0.1, write_s=0.2, size_bytes=3)
    for run_id in active:
        report(context, run_id, STARTED, measured, saved)
    _tick(context)
    with transaction(context.engine) as db:  # two parts, so that cells are replaced too, and a step that is late
        for steps in (range(3, 9_000), range(9_000, 10_000), [4_000]):
            points.put(db, active[0], [measured.model_copy(update={"step": step}) for step in steps])
    ends: list[Event] = [
        Finished(attempt=1, at=3.0, step=2),
        Paused(attempt=1, at=3.0, step=2, saved_step=2, reason="signal"),
        Failed(attempt=1, at=3.0, rank=0, reason="no"),
    ]
    for run_id, end in zip(active, ends, strict=False):
        report(context, run_id, end)
    with transaction(context.engine) as db:
        runs.request_stop(db, Run.id.in_(run_ids[-2:]))
    _tick(context)
    for run_id in active[:5]:
        jobs.answers[str(job_of(context, run_id).external_id)] = gone(EndKind.NODE_FAILED)
    _tick(context)
    report(context, active[1], Resumed(attempt=2, at=4.0, step=2, lost_steps=0))
    _tick(context)
    return run_ids


def end_long_ago(context: Context, run_ids: Sequence[int], days: int) -> None:
    """Move the ends of ended runs into the past, and run all ticks: the tick `prune` finds them."""
    with transaction(context.engine) as db:
        past = update(Run).where(Run.id.in_(run_ids), Run.ended_at.is_not(None))
        db.execute(past.values(ended_at=now() - timedelta(days=days)))
    _tick(context)


def get_everything(client: TestClient, app: FastAPI) -> int:
    """Send each GET of the API plainly, and with each value of each parameter; return the number of requests."""
    count, document = 0, app.openapi()
    name = post_tree(client, {"train.py": b"print(1)\n"})
    assert post_tree(client, {}) == EMPTY_TREE
    types = {f"#/components/schemas/{name}": schema for name, schema in document["components"]["schemas"].items()}
    app.state.live.lifetime_s = 0.0  # a stream ends after its first event
    for path, verbs in document["paths"].items():
        if "get" not in verbs or any(part in path for part in WITHOUT_TABLES):
            continue
        plain = re.sub(r"\{\w+_id\}", "1", path).replace("{name}", name)
        for query in _queries(verbs["get"].get("parameters", []), types):
            asked = dict(_required(verbs["get"])) | dict(query)
            if path.endswith("/groups") and "sort" in asked:
                asked["sort"] = "-batch"  # groups are sorted by their own columns
            answer = client.get(f"{plain}?{urlencode(asked)}")
            fits = (200, 404, 503) if any(part in path for part in ABSENT) else (200, 503)
            assert answer.status_code in fits, (plain, query, answer.text)
            count += 1
    return count


def _required(operation: Mapping[str, Any]) -> list[tuple[str, object]]:
    parameters = [one for one in operation.get("parameters", []) if one["in"] == "query" and one["required"]]
    return [(one["name"], SAMPLES[one["name"]][0]) for one in parameters]


def _queries(parameters: Sequence[Mapping[str, Any]], types: Mapping[str, Any]) -> Iterator[list[tuple[str, object]]]:
    """Yield no parameter, then one value of one parameter at a time, then pairs of two filters."""
    yield []
    single = [(one["name"], value) for one in parameters if one["in"] == "query" for value in _values(one, types)]
    yield from ([pair] for pair in single)
    yield from ([one, other] for one in single for other in single if one[0] < other[0])


def _values(parameter: Mapping[str, Any], types: Mapping[str, Any]) -> Sequence[object]:
    """Return the values of an enumeration, else samples; a new parameter without either fails here."""
    schemas = [parameter["schema"], *parameter["schema"].get("anyOf", [])]
    schemas += [schema["items"] for schema in schemas if "items" in schema]
    schemas += [types[schema["$ref"]] for schema in schemas if "$ref" in schema]
    if listed := [value for schema in schemas for value in schema.get("enum", [])]:
        return listed
    if any("[0-9]" in schema.get("pattern", "") for schema in schemas):
        return ["1:1"]
    return SAMPLES[parameter["name"]]


def _tick(context: Context) -> None:
    """Run every tick once; a poll is always due, and so is a report of a cluster."""
    with transaction(context.engine) as db:
        db.execute(update(Cluster).values(poll_after=None))
    for tick, _ in TICKS.values():
        tick(context)
