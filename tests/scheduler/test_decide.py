"""Decisions on runs whose jobs have ended: every report of a cluster, against every report of a run."""

import ast
import itertools
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.job_end import EndKind, JobEnd
from contract.lifecycle.reason import RunFailed, RunPaused
from contract.lifecycle.state import ENDED, State
from scheduler.outcome import decide as decide_module
from scheduler.outcome import excluded_hosts, exit_cause, retry
from scheduler.outcome.decide import WAIT, decide
from scheduler.outcome.evidence import Claim
from scheduler.outcome.retry import Outcome
from tests.testing.decisions import AT, LATELY, LONG_AGO, cluster_report, make_evidence, make_job, make_run, rows

pytestmark = pytest.mark.ring("quick")

PAUSED = RunPaused(step=5, message="SIGTERM to rank 1 on b")
FAILED = RunFailed(message="ValueError: no")
NO_LINK = RunFailed(message="rank 1 sent nothing")


class Reported(NamedTuple):
    """What a run has reported of its end, and whether its cluster reports a failure of host b."""

    state: State = State.RUNNING
    cause: ExitCause | None = None
    reason: RunPaused | RunFailed | None = None
    is_host_down: bool = False


REPORTED = {
    "nothing": Reported(),
    "paused": Reported(State.PAUSED, ExitCause.PREEMPTED, PAUSED),
    "failed": Reported(State.PAUSED, ExitCause.FAILURE, FAILED),
    "suspected": Reported(State.PAUSED, ExitCause.NODE_FAILURE, NO_LINK),
    "confirmed": Reported(State.PAUSED, ExitCause.NODE_FAILURE, NO_LINK, is_host_down=True),
}

# The exit cause, by the cause that the cluster reports (rows) and by what the run reports (columns). `reaped`: the
# service asked the cluster to end the job, but no user asked the run to stop.
EXIT_CAUSES = """
                     nothing        paused         failed         suspected      confirmed
    done             failure        preempted      failure        failure        node_failure
    preempted        preempted      preempted      preempted      preempted      preempted
    node_failure     node_failure   node_failure   node_failure   node_failure   node_failure
    time_limit       time_limit     time_limit     time_limit     time_limit     time_limit
    out_of_memory    out_of_memory  out_of_memory  out_of_memory  out_of_memory  out_of_memory
    failure          failure        preempted      failure        failure        node_failure
    cancelled        cancelled      cancelled      cancelled      cancelled      cancelled
    lost             lost           preempted      failure        failure        node_failure
    cancelled/reaped cancelled      preempted      failure        failure        node_failure
"""
# The cluster's causes that say nothing of a run whose attempt no process may begin: its attempt counts as lost.
LOST_IF_ABANDONED = {"alone": "failure", "packed": "failure done time_limit out_of_memory"}
# The next state, with retries={"failure": 3} and no other change of the retries of a spec.
STATES = {
    ExitCause.PREEMPTED: State.QUEUED,
    ExitCause.NODE_FAILURE: State.QUEUED,
    ExitCause.TIME_LIMIT: State.QUEUED,
    ExitCause.FAILURE: State.QUEUED,
    ExitCause.LOST: State.QUEUED,
    ExitCause.OUT_OF_MEMORY: State.FAILED,
    ExitCause.CANCELLED: State.CANCELLED,
}
# The job of a run that reports nothing: for these causes the last lines of the run may still come.
CAUSES = [cause for cause in ExitCause if cause is not ExitCause.SHUTDOWN]  # that a cluster reports
MAY_WAIT = (ExitCause.DONE, ExitCause.FAILURE)


class Cell(NamedTuple):
    cause: ExitCause
    is_certain: bool
    is_packed: bool
    claim: Claim
    stop: str  # "none", "run": a user asked the run to stop, "reaped": the service asked the cluster to end the job
    seen_for: timedelta


CELLS = itertools.product((True, False), (True, False), Claim, ("none", "run", "reaped"), (LONG_AGO, LATELY))
CONDITIONS = list(CELLS)


def expected(cell: Cell, column: str) -> tuple[State, ExitCause] | None:
    """Return the new state and the exit cause by the tables above; None where the decision waits."""
    if cell.seen_for == LATELY and column == "nothing" and cell.cause in MAY_WAIT:
        return None
    if cell.stop == "run":
        return State.CANCELLED, ExitCause.CANCELLED
    table = rows(EXIT_CAUSES)
    row = table.get(f"{cell.cause}/{cell.stop}", table[cell.cause])
    cause = ExitCause(row[column])
    lost = LOST_IF_ABANDONED["packed" if cell.is_packed else "alone"].split()
    if cell.claim is Claim.ABANDONED and cell.cause in lost:
        cause = ExitCause.LOST
    return STATES[cause], cause


def decide_cell(cell: Cell, reported: Reported) -> Outcome | None:
    """Decide on the run of a cell; return None for WAIT."""
    job = make_job(
        pack_member=0 if cell.is_packed else None,
        reported_cause=reported.cause,
        stop_requested_at=None if cell.stop == "none" else AT,
    )
    stop = AT if cell.stop == "run" else None
    run = make_run(reported.state, reason=reported.reason, stop_requested_at=stop, job=job)
    report = cluster_report(is_host_down=reported.is_host_down)
    evidence = make_evidence(cell.cause, seen_for=cell.seen_for, claim=cell.claim, report=report)
    evidence = evidence._replace(gone=evidence.gone._replace(is_certain=cell.is_certain))
    outcome = decide(run, evidence)
    assert outcome is not None
    return outcome if isinstance(outcome, Outcome) else None


@pytest.mark.parametrize("column", REPORTED)
@pytest.mark.parametrize("cause", CAUSES)
def test_each_cell_has_its_state_and_its_exit_cause(cause: ExitCause, column: str) -> None:
    """Compare 72 cells per case: certainty, packing, claim, stop and time since the end, all against all."""
    wrong = []
    for condition in CONDITIONS:
        cell = Cell(cause, *condition)
        outcome = decide_cell(cell, REPORTED[column])
        found = None if outcome is None else (outcome.transition.new, outcome.transition.exit.cause)  # type: ignore[union-attr]  # an end has an exit
        if found != expected(cell, column):
            wrong.append((cell, found, expected(cell, column)))
    assert wrong == []


@pytest.mark.parametrize("column", REPORTED)
@pytest.mark.parametrize("cause", CAUSES)
def test_each_cell_that_is_queued_again_waits_and_excludes_hosts_by_its_exit_cause(
    cause: ExitCause, column: str
) -> None:
    for condition in CONDITIONS:
        outcome = decide_cell(Cell(cause, *condition), REPORTED[column])
        if outcome is None or outcome.transition.new is not State.QUEUED:
            assert outcome is None or outcome.retry is None
            continue
        assert outcome.transition.exit is not None
        assert outcome.retry is not None
        its_cause = outcome.transition.exit.cause
        is_delayed = its_cause not in (ExitCause.PREEMPTED, ExitCause.TIME_LIMIT)
        is_excluded = its_cause is ExitCause.NODE_FAILURE and REPORTED[column].is_host_down
        assert outcome.retry.wait == timedelta(seconds=30 if is_delayed else 0)
        assert outcome.retry.excluded == (["b"] if is_excluded else [])


@pytest.mark.parametrize("state", [State.QUEUED, State.SUBMITTING, *sorted(ENDED)])
def test_nothing_follows_for_a_run_that_is_not_live(state: State) -> None:
    assert decide(make_run(state), make_evidence(ExitCause.NODE_FAILURE)) is None


CODE_4, CODE_1 = JobEnd(kind=EndKind.FAILED, exit_code=4), JobEnd(kind=EndKind.FAILED, exit_code=1)
SIGNAL = JobEnd(kind=EndKind.FAILED, detail="exit code 0:9")


@pytest.mark.parametrize(
    ("job", "cause", "end", "evidence", "waits"),
    [
        pytest.param({}, "done", None, {"seen_for": None}, False, id="a local job: its file is complete"),
        pytest.param({}, "done", None, {"seen_for": timedelta(seconds=59)}, True, id="completed 59 s ago"),
        pytest.param({}, "done", None, {"seen_for": timedelta(seconds=60)}, False, id="completed 60 s ago"),
        pytest.param({}, "done", None, {"shows_failure": True}, True, id="completed, and its log shows a failure"),
        pytest.param({}, "failure", None, {}, True, id="squeue's word for an exit code"),
        pytest.param({}, "failure", CODE_4, {}, True, id="sacct's exit code of a pause"),
        pytest.param({}, "failure", CODE_1, {}, False, id="another exit code"),
        pytest.param({}, "failure", SIGNAL, {}, False, id="a signal ended the job"),
        pytest.param({}, "failure", None, {"shows_failure": True}, False, id="the failure is visible"),
        pytest.param({"pack_member": 0}, "failure", SIGNAL, {"part_status": 4}, True, id="its part paused"),
        pytest.param({"pack_member": 0}, "failure", None, {"part_status": 1}, False, id="its part failed"),
        pytest.param({"pack_member": 0}, "failure", None, {}, True, id="its part has no exit status"),
        pytest.param({"reported_cause": ExitCause.PREEMPTED}, "done", None, {}, False, id="the run has reported"),
        *[
            pytest.param({}, cause, None, {}, False, id=f"{cause} is precise")
            for cause in ("preempted", "node_failure", "time_limit", "out_of_memory", "cancelled", "lost")
        ],
    ],
)
def test_a_decision_waits_only_while_the_run_may_still_report_why(
    job: dict[str, Any], cause: str, end: JobEnd | None, evidence: dict[str, Any], waits: bool
) -> None:
    evidence = {"seen_for": LATELY} | evidence
    found = decide(make_run(job=make_job(**job)), make_evidence(ExitCause(cause), end, **evidence))
    assert (found is WAIT) == waits


PURE = (decide_module, exit_cause, retry, excluded_hosts)
IMPURE = ("io", "os", "pathlib", "random", "shutil", "socket", "sqlalchemy", "subprocess", "tempfile", "time")
IMPURE_CALLS = {"now", "utcnow", "today", "open", "read_text", "write_text", "stat", "execute", "scalar", "scalars"}


@pytest.mark.parametrize("module", PURE, ids=lambda module: module.__name__)
def test_decisions_use_no_clock_no_file_and_no_database(module: Any) -> None:
    """Of modules that do use them, decisions import classes alone, and `left_by_itself`, which reads its argument."""
    tree = ast.parse(Path(module.__file__).read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert not [name.name for name in node.names if name.name.partition(".")[0] in IMPURE]
        if isinstance(node, ast.ImportFrom):
            source = str(node.module)
            assert source.partition(".")[0] not in IMPURE
            if source.startswith("store") or source == "scheduler.outcome.evidence":
                imported = {name.name: getattr(module, name.name) for name in node.names}
                assert {name for name, value in imported.items() if not isinstance(value, type)} <= {"left_by_itself"}
        if isinstance(node, ast.Call):
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            assert called not in IMPURE_CALLS


def test_no_row_of_the_database_reaches_a_decision() -> None:
    """A row may be changed, or read again, between the facts and the decision."""
    for path in Path(str(decide_module.__file__)).parent.glob("*.py"):
        modules = [node.module for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
        assert not [name for name in modules if name and name.startswith("store.tables")], path.name
