"""Runs: list, details, points as columns, stop."""

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Request
from sqlalchemy import select
from sqlalchemy.orm import Session

from api.database import Reading, Writing
from api.errors import Invalid
from api.folder_reading import FolderReading
from api.http.statuses import ACTION, ITEM, LIST
from api.parameters import (
    MAX_INTEGER,
    MAX_SERIES,
    AfterStep,
    Cursor,
    Limit,
    MetricColumns,
    RunFilter,
    RunId,
    RunOrder,
    RunState,
    SeriesNames,
    Since,
    list_order,
)
from api.render import FolderContents, RunMetrics, Story, ended_attempt, run_detail, run_page
from api.rows import found_run
from api.sentences.queue import queue_sentence
from contract.api.curves import Column, RunPoints
from contract.api.list_sort import RunSort
from contract.api.responses import Page, RunDetail, RunView, Stopped
from contract.diagnosis.stacks import AttemptStacks, read_stacks
from contract.folder.chunk_states import ChunkStates
from contract.folder.rank_times import RankTimes, read_rank_times
from contract.folder.run_folder import TIMES, RunFolder
from contract.lifecycle.state import State
from contract.metric_names import by_importance
from contract.validation import ValidationIssue
from store import jobs, runs
from store.lifecycle import tags
from store.lists.order import created_since
from store.lists.run_list import page
from store.metrics import curves, newest, points, restarts
from store.metrics.objectives import values_of
from store.tables.runs import Move, Run

router = APIRouter(prefix="/runs", tags=["runs"])


@router.get("", responses=LIST)
def list_runs(
    db: Reading,
    labels: RunFilter,
    state: RunState = None,
    before: Cursor = None,
    since: Since = None,
    sort: RunOrder = RunSort.NEWEST,
    metric: MetricColumns = (),
    limit: Limit = 50,
) -> Page[RunView]:
    """Return runs of all experiments, newest first; `before=next` gives the next page."""
    which = [*labels, *([] if state is None else [Run.state == state])]
    which += [] if since is None else created_since(Run, since)
    shown, more = page(db, *which, order=list_order(db, Run, sort, before), limit=limit)
    found = newest.listed(db, {run.id: run.latest for run in shown}, metric)
    values = values_of(db, {run.id: (run.experiment_id, run.objective_value) for run in shown})
    tagged = tags.of_runs(db, [run.id for run in shown])
    return run_page(shown, tagged, shown[-1].id if more else None, values, found)


@router.get("/{run_id:id}", responses=ITEM)
def get_run(run_id: RunId, db: Reading, request: Request) -> RunDetail:
    """Return one run: its spec, its state history, and the names of its series."""
    return detail_of(db, found_run(db, run_id), request)


def detail_of(db: Session, run: Run, request: Request) -> RunDetail:
    """Return the view of one run."""
    run_id = run.id
    moves = db.scalars(select(Move).where(Move.run_id == run_id).order_by(Move.id)).all()
    folder, ended = _folder(request, run), jobs.ended_attempts(db, run_id)
    last = ended_attempt(ended[-1], has_failed=run.state is State.FAILED) if ended else None
    reading = FolderReading(folder)
    failure = reading.diagnose(last)
    tagged = tags.of_runs(db, [run_id]).get(run_id, [])
    story = Story(moves, ended, restarts.of_run(db, run_id), failure, tagged)
    choices, bindings = reading.read(folder.read_choices), reading.read(folder.read_bindings)
    contents = FolderContents(folder.path, choices, bindings, reading.read(folder.read_lost_ranks), reading.reason)
    value = values_of(db, {run_id: (run.experiment_id, run.objective_value)})[run_id]
    metrics = RunMetrics(newest.all_of(db, run_id, run.latest), points.names(db, run_id), value)
    return run_detail(run, story, metrics, contents, queue_sentence(db, run))


@router.get("/{run_id:id}/points", responses=ITEM)
def get_run_points(
    run_id: RunId,
    db: Reading,
    name: SeriesNames = (),
    after: AfterStep = -1,
    limit: Annotated[
        int, Query(ge=MAX_SERIES, le=500_000, description="Largest number of points, over all series.")
    ] = 200_000,
) -> RunPoints:
    """Return points beyond step `after` as columns, the form that a chart draws."""
    found_run(db, run_id)
    names = name or by_importance(points.names(db, run_id))[:MAX_SERIES]
    if len(names) > MAX_SERIES:
        raise Invalid(
            "too many series", [ValidationIssue(path="name", message=f"at most {MAX_SERIES}, not {len(names)}")]
        )
    found, more = curves.of_run(db, run_id, names, after=after, limit=limit)
    series = {key: Column(steps=steps, values=values) for key, (steps, values) in found.items()}
    return RunPoints(series=series, more=more)


@router.get("/{run_id:id}/ranks", responses=ITEM)
def get_rank_times(run_id: RunId, db: Reading, request: Request) -> RankTimes | None:
    """Return the time split of every rank over the newest steps; null if there is none yet."""
    return read_rank_times(_folder(request, found_run(db, run_id)).path, TIMES)


@router.get("/{run_id:id}/chunks", responses=ITEM)
def get_chunks(run_id: RunId, db: Reading, request: Request) -> ChunkStates | None:
    """Return the states of the chunks of a program's volume; null if there are none yet."""
    folder = _folder(request, found_run(db, run_id))
    return FolderReading(folder).read(folder.read_chunks)


@router.get("/{run_id:id}/stacks", responses=ITEM)
def get_stacks(
    run_id: RunId,
    db: Reading,
    request: Request,
    after: Annotated[
        int, Query(ge=-1, le=MAX_INTEGER, description="Return only ranks above this one.", examples=[63])
    ] = -1,
    limit: Annotated[int, Query(ge=1, le=64, description="Largest number of ranks.")] = 64,
) -> AttemptStacks:
    """Return the newest stacks of the ranks of a program's latest attempt; `after=next` gives further ranks."""
    return read_stacks(_folder(request, found_run(db, run_id)).path, after=after, limit=limit)


@router.post("/{run_id:id}/stop", responses=ACTION)
def stop_run(run_id: RunId, db: Writing) -> Stopped:
    """Request that the run stops; a run that has ended stays as it is."""
    found_run(db, run_id)
    return Stopped(stopping=runs.request_stop(db, Run.id == run_id))


def _folder(request: Request, run: Run) -> RunFolder:
    runs_folder: Path = request.app.state.settings.runs_folder()
    return RunFolder.of(runs_folder, run.id, run.key)
