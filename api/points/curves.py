"""Curves in buckets, for charts: the cost follows the number of pixels, and a spike of one point is in its bucket."""

from collections.abc import Iterator, Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from api.database import Reading
from api.errors import Invalid
from api.http.statuses import ITEM, LIST
from api.parameters import (
    MAX_CURVES,
    MAX_INTEGER,
    MAX_SERIES,
    ExperimentId,
    RunCursor,
    RunId,
    RunIds,
    SeriesName,
    SeriesNames,
    steps_of,
)
from api.points.shared_answers import SharedAnswers
from api.rows import found_run, see_experiment
from contract.api.curves import (
    BucketedCurve,
    ComparedCurve,
    ComparedCurves,
    ExperimentCurves,
    RunBucketedCurve,
    RunCurves,
)
from contract.metric_names import by_importance, is_of_system
from contract.validation import ValidationIssue
from store import changes
from store.lists.run_facts import facts_of
from store.metrics import points, series
from store.metrics.buckets import Buckets, columns_of, in_buckets, short_columns_of
from store.metrics.series import SeriesState
from store.tables.points import Series
from store.tables.runs import Run

router = APIRouter(tags=["curves"])
MAX_OF_ANSWER = 50_000  # buckets, over all curves: an answer of random numbers has less than a megabyte, compressed

FromStep = Annotated[
    int, Query(alias="from", ge=0, le=MAX_INTEGER, description="First step of the chart.", examples=[50_000])
]
ToStep = Annotated[
    int, Query(alias="to", ge=0, le=MAX_INTEGER, description="Last step of the chart.", examples=[90_000])
]
BucketCount = Annotated[
    int,
    Query(
        alias="buckets",
        ge=1,
        le=4_000,
        description="In about how many buckets the steps of the chart are divided: its width in pixels. "
        f"All curves of an answer together have at most about {MAX_OF_ANSWER:,} buckets.",
        examples=[1000],
    ),
]


@router.get("/runs/{run_id:id}/curves", responses=ITEM, response_model=RunCurves)
def get_run_curves(
    run_id: RunId,
    db: Reading,
    name: SeriesNames = (),
    first: FromStep = 0,
    last: ToStep = MAX_INTEGER,
    buckets: BucketCount = 1000,
) -> Response:
    """Return series of a run between two steps in buckets, whose least and greatest values a chart draws."""
    found_run(db, run_id)
    # the steps of nodes' own metrics are seconds: an answer has them only if the request names them
    named = [one for one in points.names(db, run_id) if not is_of_system(one)]
    names = name or by_importance(named)[:MAX_SERIES]
    if len(names) > MAX_SERIES:
        message = f"at most {MAX_SERIES}, not {len(names)}"
        raise Invalid("too many series", [ValidationIssue(path="name", message=message)])
    found = series.states(db, Series.run_id == run_id, Series.name.in_(names))
    wanted = [(state, first, last) for state in found]
    curves = {each.state.name: BucketedCurve(**columns_of(each)) for each in _read(db, wanted, buckets)}
    return _answer(RunCurves(series=curves))


@router.get("/experiments/{experiment_id:id}/curves", responses=ITEM, response_model=ExperimentCurves)
def get_experiment_curves(
    experiment_id: ExperimentId,
    db: Reading,
    request: Request,
    name: SeriesName = "loss",
    run: Annotated[
        Sequence[Annotated[int, Query(ge=0, le=MAX_INTEGER, examples=[42])]],
        Query(max_length=MAX_CURVES, description=f"Ids of runs; without one, the first {MAX_CURVES} of the grid."),
    ] = (),
    first: FromStep = 0,
    last: ToStep = MAX_INTEGER,
    after: Annotated[
        Sequence[RunCursor],
        Query(
            max_length=MAX_CURVES,
            description="RUN:STEP for each run (its id) of which the caller has the points up to this step: only later "
            "buckets of it are returned. A chart that grows asks for its last bucket again.",
        ),
    ] = (),
    buckets: BucketCount = 1000,
) -> Response:
    """Return one series of runs of an experiment between two steps in buckets, for an overlay, with seven digits."""
    see_experiment(db, experiment_id)

    def make() -> str:
        which: list[ColumnElement[bool]] = [Run.experiment_id == experiment_id, Run.deleted_at.is_(None)]
        which += [Run.id.in_(run)] if run else []
        ids = db.scalars(select(Run.id).where(*which).order_by(Run.number).limit(MAX_CURVES)).all()
        place = {run_id: number for number, run_id in enumerate(ids)}
        known = steps_of(after)
        found = series.states(db, Series.run_id.in_(ids), Series.name == name)
        found.sort(key=lambda state: place[state.run_id])
        wanted = [(state, max(first, known.get(state.run_id, -1) + 1), last) for state in found]
        known_facts = facts_of(db, ids)
        curves = [
            RunBucketedCurve(**known_facts[each.state.run_id]._asdict(), **columns_of(each, seven_digits=True))
            for each in _read(db, wanted, buckets)
        ]
        return ExperimentCurves(name=name, curves=curves).model_dump_json()

    # the pages of an experiment get the same event and ask for the same
    shared: SharedAnswers = request.app.state.shared_answers
    text = shared.get((changes.state_of(db, experiment_id), request.url.path, request.url.query), make)
    return Response(text, media_type="application/json")


@router.get("/runs/curves", responses=LIST, response_model=ComparedCurves)
def get_curves_of_runs(
    db: Reading,
    run: RunIds,
    name: SeriesName = "loss",
    first: FromStep = 0,
    last: ToStep = MAX_INTEGER,
    buckets: BucketCount = 1000,
) -> Response:
    """Return one series of chosen runs of any experiments between two steps in buckets, for a comparison."""
    ids = db.scalars(select(Run.id).where(Run.id.in_(run), Run.deleted_at.is_(None))).all()
    place = {run_id: number for number, run_id in enumerate(dict.fromkeys(run))}
    found = series.states(db, Series.run_id.in_(ids), Series.name == name)
    found.sort(key=lambda state: place[state.run_id])
    wanted = [(state, first, last) for state in found]
    facts = facts_of(db, ids)
    curves = [
        ComparedCurve(**facts[each.state.run_id]._asdict(), **short_columns_of(each))
        for each in _read(db, wanted, buckets)
    ]
    return _answer(ComparedCurves(name=name, curves=curves))


def _read(db: Session, wanted: Sequence[tuple[SeriesState, int, int]], buckets: int) -> Iterator[Buckets]:
    return in_buckets(db, wanted, max(1, min(buckets, MAX_OF_ANSWER // max(1, len(wanted)))))


def _answer(curves: RunCurves | ComparedCurves) -> Response:
    # pydantic writes hundreds of thousands of numbers ten times as fast as Python's json module
    return Response(curves.model_dump_json(), media_type="application/json")
