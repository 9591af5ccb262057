"""Retries with more memory or time: what the next attempt gets, its bounds, and the sentence in the history."""

from typing import Any

import pytest
from pydantic import ValidationError
from sqlalchemy import Engine, select

from api.run_table.language import parse_query
from api.sentences.reason import reason_sentence
from contract.api.cluster_report import ClusterReport, Node, Partition
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.reason import Retried, RunFailed
from contract.lifecycle.state import State
from contract.spec.expanded import read_experiment
from contract.validation import issues_of
from scheduler.events.apply import apply_reports
from scheduler.events.report import RunReport
from scheduler.events.tail import Tail
from scheduler.outcome.retry import grow_resources
from store import runs
from store.lifecycle import creation
from store.run_table.where import condition_of
from store.session import snapshot, transaction
from store.tables.base import now
from store.tables.runs import Run
from tests.testing.decisions import make_evidence, make_run
from tests.testing.runs import start_job

MEMORY = {"out_of_memory": {"times": 2, "memory": "x2"}}
MINUTES = {"time_limit": {"times": 3, "minutes": "x1.5"}}


def spec(retries: dict[str, Any], **resources: Any) -> dict[str, Any]:
    need = {"kind": "slurm", "partition": "gpu", "memory_gb": 8, "minutes": 30, **resources}
    return {"kind": "program", "command": "true", "resources": need, "retries": retries}


@pytest.mark.parametrize(
    ("retries", "cause", "grown"),
    [
        (MEMORY, ExitCause.OUT_OF_MEMORY, {"memory_gb": 16}),
        (MEMORY, ExitCause.TIME_LIMIT, {}),
        (MINUTES, ExitCause.TIME_LIMIT, {"minutes": 45}),
        ({"time_limit": {"times": 1, "minutes": "x1.01"}}, ExitCause.TIME_LIMIT, {"minutes": 31}),
        ({"out_of_memory": 3}, ExitCause.OUT_OF_MEMORY, {}),
    ],
)
def test_the_resources_grow_by_the_factor_of_their_cause(
    retries: dict[str, Any], cause: ExitCause, grown: dict[str, int]
) -> None:
    assert grow_resources(make_run(spec=spec(retries)), cause, None) == grown


def test_the_partition_bounds_the_growth() -> None:
    node = {"name": "a", "state": "idle", "partitions": ["gpu"], "cpus": 4, "busy_cpus": 0, "gres": "", "features": []}
    partition = {"name": "gpu", "is_default": True, "state": "up", "nodes": 1, "idle_nodes": 1, "cpus": 4, "gres": ""}
    report = ClusterReport(
        nodes=[Node.model_validate({**node, "memory_mb": 12 * 1024})],
        partitions=[Partition.model_validate({**partition, "time_limit": "40:00"})],
        queue=[],
    )
    assert grow_resources(make_run(spec=spec(MEMORY)), ExitCause.OUT_OF_MEMORY, report) == {"memory_gb": 12}
    assert grow_resources(make_run(spec=spec(MINUTES)), ExitCause.TIME_LIMIT, report) == {"minutes": 40}
    assert grow_resources(make_run(spec=spec(MEMORY, memory_gb=12)), ExitCause.OUT_OF_MEMORY, report) == {}


def test_the_next_attempt_asks_for_what_grew_and_shares_no_submission_with_smaller_ones(engine: Engine) -> None:
    experiment = read_experiment({"name": "grows", "base": spec(MEMORY)})
    with transaction(engine) as db:
        (run_id,) = creation.create(db, experiment)[1]
        need = db.get_one(Run, run_id).need
        start_job(db, run_id, State.RUNNING)
    with snapshot(engine) as db:
        (live,) = runs.live(db, ended_after=now())
    evidence = make_evidence(ExitCause.OUT_OF_MEMORY)
    with transaction(engine) as db, db.no_autoflush:
        assert apply_reports(db, [RunReport(live, Tail([], 0, False), evidence)]) == {run_id: State.QUEUED}
    with snapshot(engine) as db:
        run = db.get_one(Run, run_id)
        assert (run.spec["resources"]["memory_gb"], run.spec["resources"]["minutes"]) == (16, 30)
        assert run.need != need
        assert reason_sentence(run.reason).endswith("attempt 2 follows with 16 GiB per node")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("retries", "cause", "before", "after"),
    [
        (MEMORY, ExitCause.OUT_OF_MEMORY, "resources.memory_gb = 8", "resources.memory_gb = 16"),
        (MINUTES, ExitCause.TIME_LIMIT, "resources.minutes = 30", "resources.minutes = 45"),
    ],
)
def test_the_table_of_runs_finds_a_run_by_what_grew(
    engine: Engine, retries: dict[str, Any], cause: ExitCause, before: str, after: str
) -> None:
    with transaction(engine) as db:
        experiment = read_experiment({"name": "grows", "base": spec(retries)})
        (run_id,) = creation.create(db, experiment)[1]
        start_job(db, run_id, State.RUNNING)
    with snapshot(engine) as db:
        assert db.scalars(select(Run.id).where(condition_of(db, parse_query(before)))).all() == [run_id]
        (live,) = runs.live(db, ended_after=now())
    with transaction(engine) as db, db.no_autoflush:
        apply_reports(db, [RunReport(live, Tail([], 0, False), make_evidence(cause))])
    with snapshot(engine) as db:
        assert not db.scalars(select(Run.id).where(condition_of(db, parse_query(before)))).all()
        assert db.scalars(select(Run.id).where(condition_of(db, parse_query(after)))).all() == [run_id]


def test_the_history_names_what_grew() -> None:
    reason = Retried(after=RunFailed(message="out of memory"), attempt=2, memory_gb=16)
    assert reason_sentence(reason).endswith("attempt 2 follows with 16 GiB per node")


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (spec(MEMORY, memory_gb=None), "base.retries.out_of_memory.memory"),
        ({**spec(MEMORY), "resources": {"kind": "local"}}, "base.retries.out_of_memory"),
        (spec({"out_of_memory": {"times": 2, "memory": "x0.5"}}), "base.retries.out_of_memory"),
    ],
)
def test_a_growth_that_means_nothing_is_refused_with_its_field(document: dict[str, Any], path: str) -> None:
    with pytest.raises(ValidationError) as refused:
        read_experiment({"name": "grows", "base": document})
    assert any(issue.path.startswith(path) for issue in issues_of(refused.value))
