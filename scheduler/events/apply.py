"""Application of what runs report: points, cursors and transitions of several runs in one transaction."""

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from itertools import chain
from typing import Any

from sqlalchemy.orm import Session

from contract.folder.events import Event, Failed, Finished, Noticed, Paused, Points, Resumed, Saved, Started, Stopped
from contract.lifecycle.state import LIVE, State
from contract.metric_names import CHECKPOINT_BYTES, CHECKPOINT_STALL_S, CHECKPOINT_WRITE_S
from contract.spec.any_run import read_run
from scheduler.events.folder_state import FolderState
from scheduler.events.losses import count_repeated, note_losses_of_folder, note_torn_line, note_tracker
from scheduler.events.moments import Moments, end_of
from scheduler.events.report import RunReport
from scheduler.outcome.decide import Wait, decide, decide_on_event
from scheduler.outcome.facts import JobFacts, RunFacts
from scheduler.outcome.outputs import accepted_artifacts
from scheduler.outcome.ran_for import observed_seconds, reported_seconds
from scheduler.outcome.retry import Outcome
from store import changes, runs, transitions
from store.artifacts.artifacts import insert_artifacts
from store.lifecycle.new_runs import need_of
from store.locks import lock_runs
from store.metrics import points, restarts
from store.metrics.newest import Newest, merge_latest
from store.notify.moves import note_losses
from store.runs import Advance
from store.tables.base import now
from store.tables.runs import Job, Run


def apply_reports(db: Session, reports: Sequence[RunReport]) -> dict[int, State]:
    """Store the reports; return the new state of each run, without the runs that another worker has read meanwhile."""
    lock_runs(db, Run.id.in_([report.run.id for report in reports]))  # in id order; the two locks below find it held
    is_plain = {report.run.id: _has_points_only(report) for report in reports}
    plain = [report for report in reports if is_plain[report.run.id]]
    others = [report for report in reports if not is_plain[report.run.id]]
    values = {report.run.id: measured(report.tail.events) for report in reports}
    before = runs.lock_progress(db, [report.run for report in plain]) if plain else {}
    rows = runs.lock_as_read(db, [report.run for report in others]) if others else {}
    mine = [report for report in reports if report.run.id in before or report.run.id in rows]
    stored = points.put_many(db, {report.run.id: [*values[report.run.id], *report.ranks.points] for report in mine})
    news = {report.run.id: _news(values[report.run.id], stored.newest.get(report.run.id, {})) for report in mine}
    for report in mine:  # of all series: the row of a run keeps some of them
        (latest, step), lost = news[report.run.id], stored.lost.get(report.run.id, ())
        note_losses(db, report.run.id, step, [name for name in latest if name in lost])
    advanced = [report for report in plain if report.run.id in before]
    runs.advance(db, [_advance(report, *news[report.run.id]) for report in advanced], before)
    for report in others:
        if report.run.id in rows:
            _apply_one(db, rows[report.run.id], report, *news[report.run.id])
    states = {run_id: row.state for run_id, row in rows.items()}
    return states | {report.run.id: report.run.state for report in advanced}


def measured(events: Sequence[Event]) -> list[Points]:
    """Return the measured values among the events: those of steps, and the costs of checkpoints."""
    return [measurement for event in events if (measurement := event if type(event) is Points else _measurement(event))]


def _has_points_only(report: RunReport) -> bool:
    """Return whether a running run reports points alone: then its whole row is not read."""
    if report.evidence is not None or report.run.state is not State.RUNNING:
        return False
    has_losses = report.tail.damage.lines or report.ranks.damage.lines or report.state is not FolderState.USUAL
    if has_losses or (report.run.unread is not None and report.run.unread.lost_history is not None):
        return False
    return all(isinstance(event, Points) for event in report.tail.events)


def _advance(report: RunReport, latest: Newest, step: int) -> Advance:
    return Advance(report.run, report.tail.cursor, latest, step, report.ranks.cursors)


def _news(measurements: Sequence[Points], changed: Newest) -> tuple[Newest, int]:
    """Return the newest values that changed of the series among the measurements, and their last step."""
    names = set(chain.from_iterable(measurement.values for measurement in measurements))
    latest = {name: value for name, value in changed.items() if name in names}  # without series of ranks above 0
    return latest, max((measurement.step for measurement in measurements), default=0)


def _measurement(event: Event) -> Points | None:
    """Return the costs of a checkpoint that was written."""
    if isinstance(event, Saved) and event.error is None:
        costs = {CHECKPOINT_STALL_S: event.stall_s, CHECKPOINT_WRITE_S: event.write_s}
        values = {**costs, CHECKPOINT_BYTES: float(event.size_bytes)}
        return Points(attempt=event.attempt, at=event.at, step=event.step, values=dict(values))
    return None


def _apply_one(db: Session, run: Run, report: RunReport, latest: Newest, step: int) -> None:
    events = report.tail.events
    job = next(job for job in run.jobs if job.id == run.current_job_id)
    note_losses_of_folder(run, report, run.step)
    run.cursor, run.step = report.tail.cursor, max(run.step, step)
    run.rank_cursors = dict(report.ranks.cursors)
    if report.reached is not None:
        job.reached_step = report.reached
    run.latest = merge_latest(run.latest, latest)
    changes.record_runs(db, [run.id])
    before = run.state
    moments = Moments(transitions.last_moved_at(db, run), now(), job.clock_shift_s)
    resumed = (event for event in events if isinstance(event, Resumed))
    restarts.store_restarts(db, run.id, (event for event in resumed if 0 < event.attempt <= run.attempt))
    if noticed := [event for event in events if isinstance(event, Noticed)]:
        note_tracker(run, noticed[-1])
    for event in events:
        if isinstance(event, Points | Saved | Noticed | Resumed) or event.attempt != run.attempt:
            continue
        if isinstance(event, Started) and run.state is State.PENDING:
            job.hosts, job.pending_reason, job.pending_detail = sorted(set(event.hosts)), None, None
            at = job.started_at = moments.of_start(event.at)
            job.clock_shift_s = moments.shift_s
        else:
            at = moments.of_event(event.at)
        if isinstance(event, Finished | Failed | Paused | Stopped) and run.state in LIVE and job.ran_s is None:
            job.ran_s = reported_seconds(facts_of_job(job), event)
        _carry_out(db, run, job, decide_on_event(facts_of(run, job), event, report.outputs), at)
    count_repeated(db, run, events)
    if not report.more:
        _end_by_evidence(db, run, job, report, moments)
    if run.state is State.DONE and before is not State.DONE:
        _store_artifacts(db, run, report)


def _end_by_evidence(db: Session, run: Run, job: Job, report: RunReport, moments: Moments) -> None:
    """Carry out what follows from the end of the run's job, if that can be decided."""
    if report.evidence is None:
        return
    outcome = decide(facts_of(run, job), report.evidence)
    if outcome and not isinstance(outcome, Wait):
        end = end_of(report.evidence, report.last_sign)
        job.is_gone = True
        job.ran_s = observed_seconds(facts_of_job(job), end) if job.ran_s is None else job.ran_s
        _carry_out(db, run, job, outcome, moments.of_end(end))
        note_torn_line(run, report)


def _store_artifacts(db: Session, run: Run, report: RunReport) -> None:
    """Store what a run that is done now has left."""
    record = report.outputs or (report.evidence.outputs if report.evidence else None)
    found = accepted_artifacts(run.spec.get("outputs") or {}, record)
    has_retention = run.spec.get("keep", {}).get("kind", "all") != "all"
    insert_artifacts(db, run.id, run.attempt, list(found.values()), has_retention=has_retention)


def _carry_out(db: Session, run: Run, job: Job, outcome: Outcome | None, at: datetime) -> None:
    if outcome is None:
        return
    columns: dict[str, Any] = {}
    if outcome.retry:
        if outcome.retry.resources:
            resources = {**run.spec["resources"], **outcome.retry.resources}
            runs.change_spec(db, run.id, {**run.spec, "resources": resources})
        need = need_of(read_run(run.spec), outcome.retry.excluded)
        not_before = now() + outcome.retry.wait
        columns = {"not_before": not_before, "excluded": outcome.retry.excluded, "need": need}
        if outcome.retry.ends_request:
            columns |= {"stop_requested_at": None, "stop_source": None}
    transitions.apply(db, run, job, outcome.transition, at, **columns)


_OF_JOB = [field.name for field in fields(JobFacts)]
_OF_RUN = [field.name for field in fields(RunFacts) if field.name not in ("job", "jobs")]


def facts_of(run: Run, job: Job) -> RunFacts:
    """Return the facts of a run as its rows have them now; `job`: of its current attempt. Its jobs must be loaded."""
    columns: dict[str, Any] = {name: getattr(run, name) for name in _OF_RUN}
    return RunFacts(**columns, job=facts_of_job(job), jobs=tuple(map(facts_of_job, run.jobs)))


def facts_of_job(job: Job) -> JobFacts:
    """Return the facts of a job as its row has them now."""
    return JobFacts(**{name: getattr(job, name) for name in _OF_JOB})
