"""The plan tick: let the steps of workflows begin and end.

The tick reads counts of runs, and decides about each step without a look at its runs. A step gets its runs in one
transaction with the change of its state, so that a worker that is killed leaves it as it was, or with all its runs.
Steps that begin or end at once share a transaction.
"""

import logging
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from contract.lifecycle.step import NotResolved, StepReason, StepState
from scheduler.context import Context
from scheduler.workflow.decide import Expand, Move, StepFacts, decide_all
from scheduler.workflow.expand import Needed, NewRuns, find_runs, read_needed
from scheduler.workflow.resolve import NotResolvedError, NotWrittenError
from store.lifecycle.new_steps import Begin, TooManyRunsError, begin_steps
from store.session import snapshot, transaction
from store.steps.progress import StepProgress, open_workflows
from store.steps.transitions import StepChange, change_steps
from store.tables.base import now

BUDGET_S, BUDGET_CPU_S = 2.0, 0.2  # no step is changed after so long; the next tick, half a second later, goes on
LATE = timedelta(seconds=10)  # for so long a shared file system may hide a file that a run has written
PART = 100  # a transaction gives steps so many runs, or one step all of its runs
log = logging.getLogger(__name__)


class Changed(NamedTuple):
    """A step's new state."""

    name: str
    new: StepState
    reason: StepReason | None


class Budget:
    """The time of a tick: seconds of the processor for what it inserts, and seconds for files that do not answer."""

    def __init__(self) -> None:
        self._until, self._until_cpu = time.monotonic() + BUDGET_S, time.thread_time() + BUDGET_CPU_S

    def is_used(self) -> bool:
        """Return whether no further step is to be changed in this tick."""
        return time.monotonic() > self._until or time.thread_time() > self._until_cpu


def plan(context: Context) -> None:
    """Decide about each open step of each workflow, until nothing changes any more."""
    with snapshot(context.engine) as db:
        workflows = open_workflows(db)
    budget = Budget()
    for steps in workflows.values():
        if budget.is_used():
            return
        context.memory.note_progress("plan")
        try:
            _plan_workflow(context, steps, budget)
        except Exception:  # one workflow must not hold up the others
            log.exception("the steps of experiment %d could not be planned", steps[0].experiment_id)


def _plan_workflow(context: Context, steps: Sequence[StepProgress], budget: Budget) -> None:
    """Carry out decisions until no step changes: the end of one lets another one begin within the same tick."""
    facts = {step.name: _facts(step) for step in steps}
    remaining = {step.name: step for step in steps if step.state in (StepState.WAITING, StepState.RUNNING)}
    while not budget.is_used():
        decisions = decide_all(remaining, facts)
        # of those that do not change another worker was first, or a file is late: the next tick reads the step again
        decided = [(remaining.pop(name), decision) for name, decision in decisions.items()]
        changed = _move(context, [(step, one) for step, one in decided if isinstance(one, Move)])
        changed += _begin(context, [step for step, one in decided if isinstance(one, Expand)], steps, budget)
        if not changed:
            return
        for name, new, reason in changed:
            facts[name] = facts[name]._replace(state=new, reason=reason)


def _move(context: Context, decided: Sequence[tuple[StepProgress, Move]]) -> list[Changed]:
    """Let steps end, all in one transaction."""
    if not decided:
        return []
    wanted = [StepChange(step.id, step.state, move.new, move.reason) for step, move in decided]
    with transaction(context.engine) as db:
        moved = change_steps(db, wanted)
    return [Changed(step.name, move.new, move.reason) for step, move in decided if step.id in moved]


def _begin(
    context: Context, begins: Sequence[StepProgress], steps: Sequence[StepProgress], budget: Budget
) -> list[Changed]:
    """Let steps begin, in transactions of about PART runs."""
    if not begins:
        return []
    ids = {step.name: step.id for step in steps}
    needed = read_needed(context, begins[0].experiment_id, ids, [step.name for step in begins])
    changed, part, count = list[Changed](), list[tuple[StepProgress, NewRuns]](), 0
    for step in begins:
        if budget.is_used():
            break
        context.memory.note_progress("plan")
        if (found := _find(context, step, needed, steps)) is not None:
            part.append((step, found))
            count += len(found.points)
        if count >= PART:
            changed += _store(context, part)
            part, count = [], 0
    return changed + _store(context, part)


def _find(context: Context, step: StepProgress, needed: Needed, steps: Sequence[StepProgress]) -> NewRuns | None:
    """Return the runs of a step, or how it ends without any; None if it stays as it is."""
    try:
        return find_runs(context, needed, step.name)
    except NotWrittenError as error:
        return None if _ended_just_now(step, steps) else _failed(str(error))
    except NotResolvedError as error:
        return _failed(str(error))
    except OSError as error:  # the file system does not answer now
        log.warning("step %s of experiment %d waits: %s", step.name, step.experiment_id, error)
        return None


def _store(context: Context, part: Sequence[tuple[StepProgress, NewRuns]]) -> list[Changed]:
    """Store the beginnings of steps in one transaction, or if they have too many runs together each in its own."""
    if not part:
        return []
    wanted = [_begin_of(step, found) for step, found in part]
    try:
        with transaction(context.engine) as db:
            moved = begin_steps(db, part[0][0].experiment_id, wanted)
    except TooManyRunsError as error:
        if len(part) == 1:
            return _store(context, [(part[0][0], _failed(str(error)))])
        return [changed for one in part for changed in _store(context, [one])]
    names = {step.id: step.name for step, _ in part}
    return [Changed(names[one.step_id], one.new, one.reason) for one in wanted if one.step_id in moved]


def _begin_of(step: StepProgress, found: NewRuns) -> Begin:
    # a step without runs is done at the next look
    new = found.end if found.end in (StepState.SKIPPED, StepState.FAILED) else StepState.RUNNING
    return Begin(step.id, new, found.reason, found.points)


def _failed(message: str) -> NewRuns:
    return NewRuns(end=StepState.FAILED, reason=NotResolved(message=message[:2_000]))


def _ended_just_now(step: StepProgress, steps: Sequence[StepProgress]) -> bool:
    """Return whether a needed step ended so recently that its files may not be seen yet."""
    ends = [other.ended_at for other in steps if other.name in step.needs and other.ended_at is not None]
    # a step that ended within this tick has no moment yet
    is_new = any(other.name in step.needs and other.ended_at is None for other in steps)
    return is_new or any(now() - end < LATE for end in ends)


def _facts(step: StepProgress) -> StepFacts:
    return StepFacts(step.name, step.state, tuple(step.needs), step.on_failure, step.runs, step.reason)
