"""Rows as the views of the contract."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from api.sentences.reason import reason_sentence
from api.sentences.run_reason import is_after_failure, pending_kind, reason_in_queue, run_reason
from api.sentences.unread import unread_view, with_unreadable
from contract.api.drafts import DraftRun, DraftStep, ExperimentDraft
from contract.api.objective import ShownObjective
from contract.api.responses import (
    AttemptView,
    ExperimentDetail,
    ExperimentView,
    MoveView,
    Page,
    RestartView,
    RunDetail,
    RunView,
)
from contract.api.run_table import Cell, TableRow
from contract.diagnosis.diagnose import EndedAttempt
from contract.folder.auto_choice import CollectiveChoices
from contract.folder.cpu_binding import CpuBindings
from contract.folder.lost_rank import LostRank
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.failure import Failure
from contract.lifecycle.reason import (
    Begun,
    JobEnded,
    Reason,
    RunPaused,
)
from contract.lifecycle.state import ENDED, State
from contract.spec.expanded import Expanded
from contract.spec.experiment import ExperimentSpec
from contract.spec.objective import Objective
from contract.spec.recorded.run import RecordedExperiment
from contract.spec.recorded.stored_run import is_recorded, read_stored_run
from store.experiments import Summary
from store.lists.run_facts import devices_of
from store.lists.run_list import ListedRun
from store.metrics.newest import Listed, Newest
from store.run_table.columns import shown
from store.tables.experiments import Experiment
from store.tables.runs import Job, Move, Restart, Run

COPIED_FIELDS = RunView.model_fields.keys() - {
    "stopping",
    "after_failure",
    "reason",
    "waits_kind",
    "job_id",
    "unknown_since",
    "tags",
    "unread",
    "latest",
    "more_metrics",
    "attempt_started_at",
    "objective_value",
}


class Story(NamedTuple):
    """The history of a run."""

    moves: Sequence[Move]
    attempts: Sequence[Job]
    restarts: Sequence[Restart]
    failure: Failure | None
    tags: Sequence[str]


def run_page(
    runs: Sequence[ListedRun],
    tags: Mapping[int, Sequence[str]],
    following: int | None,
    values: Mapping[int, float | None],
    metrics: Mapping[int, Listed] | None = None,
) -> Page[RunView]:
    """Return a page of a list; `values`: of the objectives of the runs, by their ids.

    `metrics`: what it shows of each run's metrics, if not those of the run's row.
    """
    shown = {run.id: Listed(run.latest, 0) for run in runs} if metrics is None else metrics
    # validated in one call: making hundreds of models one by one takes longer than reading their rows
    return Page[RunView].model_validate(
        {
            "items": [_run_fields(run, tags.get(run.id, ()), shown[run.id], values[run.id]) for run in runs],
            "next": following,
        }
    )


def table_row(run: ListedRun, cells: Sequence[Cell]) -> TableRow:
    """Return a row of the table of runs."""
    names = ("id", "experiment_id", "number", "values", "state", "step", "steps", "diverged", "archived_at")
    fields = {name: getattr(run, name) for name in names}
    return TableRow(
        **fields,
        reason=run_reason(run, run.job),
        stopping=run.stop_requested_at is not None and run.state not in ENDED,
        after_failure=is_after_failure(run),
        cells=[shown(cell) for cell in cells],
    )


class RunMetrics(NamedTuple):
    """The metrics of a run."""

    latest: Newest
    series: list[str]
    objective_value: float | None


class FolderContents(NamedTuple):
    """What the run folder contains."""

    path: Path
    choices: CollectiveChoices | None
    bindings: CpuBindings | None
    lost_ranks: list[LostRank] | None
    unreadable: str | None = None  # why a part is absent


def run_detail(
    run: Run, story: Story, metrics: RunMetrics, contents: FolderContents, waits: str | None = None
) -> RunDetail:
    """Return the view of one run; `waits` is why its queue keeps it waiting."""
    fields = _run_fields(run, story.tags, Listed(metrics.latest, 0), metrics.objective_value)
    fields |= {"reason": reason_in_queue(run, waits)}
    return RunDetail(
        **fields | {"unread": with_unreadable(fields["unread"], contents.unreadable)},
        spec=read_stored_run(run.spec),
        moves=[_move_view(move) for move in story.moves],
        attempts=[_attempt_view(job) for job in story.attempts],
        restarts=[RestartView.model_validate(restart, from_attributes=True) for restart in story.restarts],
        excluded=run.excluded,
        failure=story.failure,
        devices=devices_of(run.spec.get("resources"), run.world),
        series=metrics.series,
        points_removed_at=run.points_removed_at,
        history_removed_at=run.history_removed_at,
        notes=run.notes,
        folder=str(contents.path),
        choices=contents.choices,
        bindings=contents.bindings,
        lost_ranks=contents.lost_ranks or [],
    )


def ended_attempt(job: Job, *, has_failed: bool) -> EndedAttempt | None:
    """Return the outcome of a job as the diagnosis takes it; None while it is not decided.

    An attempt that paused before its time limit is no failure, unless its run has failed for it.
    """
    paused = isinstance(job.exit_reason, RunPaused)
    if job.exit_cause is None or (paused and not has_failed):
        return None
    has_begun = not (isinstance(job.exit_reason, JobEnded) and job.exit_reason.begun is not Begun.CLAIMED)
    reason = _sentence(job.exit_reason)
    return EndedAttempt(job.attempt, job.exit_cause, reason, job.hosts, job.cluster, paused, has_begun)


def sentence_of(run: Run) -> str | None:
    """Return the reason of a run's state as a sentence."""
    return _sentence(run.reason)


def _move_view(move: Move) -> MoveView:
    return MoveView(old=move.old, new=move.new, at=move.at, reason=_sentence(move.reason))


def _attempt_view(job: Job) -> AttemptView:
    values = {
        "number": job.attempt,
        "job_id": job.external_id,
        "ended_at": job.ended_at,
        "started_at": job.started_at,
        "ran_s": job.ran_s,
        "step": job.exit_step if job.reached_step is None else job.reached_step,
        "cause": job.exit_cause,
        "reason": _attempt_sentence(job),
        "hosts": job.hosts,
    }
    return AttemptView.model_validate(values)


def _attempt_sentence(job: Job) -> str | None:
    """Return why an attempt ended: a cluster does not know who cancelled a job, and the service does."""
    by_cluster = isinstance(job.exit_reason, JobEnded) and job.exit_cause is ExitCause.CANCELLED
    if by_cluster and job.stop_requested_at is not None:
        return "the service ended the job on request"
    return _sentence(job.exit_reason)


def _sentence(reason: Reason | None) -> str | None:
    return None if reason is None else reason_sentence(reason)


def spec_of(experiment: Experiment) -> ExperimentSpec | RecordedExperiment:
    """Return the spec of a stored experiment."""
    if is_recorded(experiment.spec.get("base")):
        return RecordedExperiment.model_validate(experiment.spec)
    return ExperimentSpec.from_stored(experiment.spec)


def experiment_view(experiment: Experiment, summary: Summary, tags: Sequence[str]) -> ExperimentView:
    return ExperimentView(**_experiment_fields(experiment, summary, tags))


def experiment_detail(experiment: Experiment, summary: Summary, tags: Sequence[str]) -> ExperimentDetail:
    return ExperimentDetail(
        **_experiment_fields(experiment, summary, tags),
        spec=spec_of(experiment),
        notes=experiment.notes,
        added_points=experiment.added_points or [],
    )


def experiment_draft(experiment: Expanded) -> ExperimentDraft:
    """Return an experiment and its runs before any is stored; of a search one example."""
    spec, points = experiment.spec, experiment.points
    of_steps = zip(spec.steps, experiment.points_of_steps(), strict=True)
    names = [step.name for step, known in of_steps for _ in known or ()]
    runs = [
        DraftRun(
            number=number,
            step_name=names[number] if names else None,
            values=values,
            cluster=run.resources.kind,
            world=run.resources.world,
            steps=run.steps,
        )
        for number, (values, run) in enumerate(points[:1] if spec.search else points)
    ]
    steps = [DraftStep(name=step.name, needs=step.needed(), runs=step.size) for step in spec.steps]
    return ExperimentDraft(spec=spec, runs=runs, steps=steps)


def _run_fields(run: Run | ListedRun, tags: Sequence[str], metrics: Listed, value: float | None) -> dict[str, Any]:
    job = run.job if isinstance(run, ListedRun) else run.current_job
    return {
        **{name: getattr(run, name) for name in COPIED_FIELDS},
        "job_id": job and job.external_id,
        "unknown_since": job and job.unknown_since,
        "attempt_started_at": job and job.started_at,
        "waits_kind": pending_kind(job),
        "latest": metrics.latest,
        "more_metrics": metrics.more,
        "objective_value": value,
        "unread": unread_view(run.unread, run.latest),
        "reason": run_reason(run, job),
        "stopping": run.stop_requested_at is not None and run.state not in ENDED,
        "after_failure": is_after_failure(run),
        "tags": tags,
    }


def _shown_objective(objective: Objective) -> ShownObjective:
    return ShownObjective(metric=objective.metric, goal=objective.known_goal, value=objective.value)


def _progress(summary: Summary) -> float:
    """Return the share of steps that are taken; runs without steps, which only evaluate, count by their ends.

    Of a search it is the share of its trials that have ended.
    """
    if summary.search:
        return summary.search.ended / max(1, summary.search.trials)
    if summary.steps:
        return min(1.0, summary.step / summary.steps)
    return summary.counts.get(State.DONE, 0) / max(1, sum(summary.counts.values()))


def _experiment_fields(experiment: Experiment, summary: Summary, tags: Sequence[str]) -> dict[str, Any]:
    return {
        "id": experiment.id,
        "name": experiment.name,
        "description": experiment.description,
        "created_at": experiment.created_at,
        "state": summary.state,
        "runs": sum(summary.counts.values()),
        "counts": summary.counts,
        "diverged": summary.diverged,
        "open_steps": summary.open_steps,
        "progress": _progress(summary),
        "steps": summary.steps,
        "objective": summary.objective and _shown_objective(summary.objective),
        "best": summary.best and {"value": summary.best.value, "run": summary.best.run_id},
        "series": summary.series,
        "owner": experiment.owner,
        "project": experiment.project,
        "tags": tags,
        "archived_at": experiment.archived_at,
        "origin": experiment.origin_id,
    }
