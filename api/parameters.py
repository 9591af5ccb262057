"""Parameters of endpoints, with the limits of both databases: a PostgreSQL integer has 32 bits, a text has no NUL."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Depends, Header, Path, Query
from pydantic import AfterValidator, AwareDatetime, BeforeValidator
from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session
from starlette.convertors import StringConvertor, register_url_convertor

from api.errors import Invalid
from contract.api.list_sort import ExperimentSort, RunSort
from contract.lifecycle.state import State
from contract.validation import ValidationIssue
from store.lifecycle.labels import has_text, visible
from store.lifecycle.tags import experiments_with, runs_with
from store.lists.order import ListOrder, UnknownRowError, order_rows
from store.run_table.any_text import run_has_text
from store.tables.experiments import Experiment
from store.tables.runs import Run

MAX_INTEGER = 2**31 - 1  # of a column of ids, numbers and steps
FIRST, LAST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)  # of moments in queries
NO_NUL = r"^[^\x00]*$"

ExperimentId = Annotated[int, Path(ge=0, le=MAX_INTEGER, description="Id of the experiment.", examples=[17])]
RunId = Annotated[int, Path(ge=0, le=MAX_INTEGER, description="Id of the run.", examples=[42])]
IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=200,
        description="A text that the client chooses for this request, so that it can repeat the request safely: "
        "the service carries out a key's document once.",
        examples=["6f1c2f0e-8f0b-4c43-a5a7-1d8f0c9b7d11"],
    ),
]
UserName = Annotated[
    str | None,
    Header(
        alias="Bigbatch-User",
        min_length=1,
        max_length=100,
        pattern=r"^[ -~]+$",
        description="User of the client: the owner of a new experiment whose spec names none, and the person that the "
        "history of a run names. It gives no rights.",
        examples=["ada"],
    ),
]
Origin = Annotated[
    int | None,
    Query(
        ge=0,
        le=MAX_INTEGER,
        description="Id of the experiment that the new one repeats or varies.",
        examples=[12],
    ),
]
Confirm = Annotated[
    str | None,
    Query(
        max_length=300,
        pattern=NO_NUL,
        description="The text `confirm` of the size, which shows that the deletion is meant.",
        examples=["torus against ring"],
    ),
]
Force = Annotated[
    bool,
    Query(
        description="Accept resources that contradict the newest report of the cluster, and imported nets whose module "
        "the service does not find; carry out runs with `reuse` although finished runs have equal results."
    ),
]
FromStep = Annotated[
    str | None,
    Query(
        max_length=100,
        examples=["train"],
        description="Carry out this step of the workflow and all that need it, although finished runs have equal "
        "results. Earlier steps take such results if their runs have `reuse: true`.",
    ),
]
DryRun = Annotated[
    bool, Query(description="Only check the experiment: store nothing, and answer 200 with the runs that it describes.")
]

Cursor = Annotated[
    int | None,
    Query(ge=0, le=MAX_INTEGER, description="`next` of the previous page; without it the first page.", examples=[17]),
]
AfterNumber = Annotated[
    int,
    Query(
        ge=-1,
        le=MAX_INTEGER,
        description="Return only runs with a larger number in the grid: `next` of the previous page.",
        examples=[199],
    ),
]
AfterStep = Annotated[
    int, Query(ge=-1, le=MAX_INTEGER, description="Return only points of later steps.", examples=[1200])
]
Limit = Annotated[int, Query(ge=1, le=500, description="Largest number of items in the page.")]
PointLimit = Annotated[int, Query(ge=1, le=500_000, description="Largest number of points, over all series.")]


def _refuse_number(text: object) -> object:
    """Refuse seconds since 1970, which pydantic takes for a moment: the schema says a date and a time."""
    try:
        float(str(text))
    except ValueError:
        return text
    raise ValueError("expected a date and a time, such as 2026-11-23T08:00:00Z")


def _in_utc(moment: datetime | None) -> datetime | None:
    if moment and not FIRST <= moment <= LAST:
        raise ValueError(f"expected a moment from {FIRST.year} to {LAST.year}")
    return moment and moment.astimezone(UTC)


# SQLite compares moments as text without a zone, so each is in UTC
Since = Annotated[
    AwareDatetime | None,
    BeforeValidator(_refuse_number),
    Query(
        description="Return only items created at this moment (with its zone) or later.",
        examples=["2026-11-23T08:00:00Z"],
    ),
    AfterValidator(_in_utc),
]
NamePart = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=200,
        pattern=NO_NUL,
        description="Return only experiments with this text in the name; capitals and small letters differ.",
        examples=["torus"],
    ),
]
SearchText = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=200,
        pattern=NO_NUL,
        description="Return only experiments with this text in the name, the description, the notes, a tag, the owner "
        "or the project; capitals and small letters differ.",
        examples=["lars"],
    ),
]
RunText = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=200,
        pattern=NO_NUL,
        description="Return only runs with this text in the notes, a tag, the reason or a text of the spec, or in the "
        "name, the description, the notes or a tag of the experiment, in capitals or small letters.",
        examples=["lars"],
    ),
]
TagName = Annotated[
    str | None,
    Query(
        min_length=1, max_length=60, pattern=NO_NUL, description="Return only items with this tag.", examples=["lars"]
    ),
]
OwnerName = Annotated[
    str | None,
    Query(max_length=100, pattern=NO_NUL, description="Return only experiments of this owner.", examples=["ada"]),
]
ProjectName = Annotated[
    str | None,
    Query(max_length=100, pattern=NO_NUL, description="Return only experiments of this project.", examples=["vision"]),
]
Archived = Annotated[bool, Query(description="Return what is archived, instead of what is not.")]
RunState = Annotated[State | None, Query(description="Return only runs in this state.", examples=["failed"])]
StepNameFilter = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=60,
        pattern=NO_NUL,
        description="Return only the runs of this step of a workflow.",
        examples=["train"],
    ),
]
JointState = Annotated[
    State | None,
    Query(description="Return only experiments whose `state` is this one.", examples=["running"]),
]
ExperimentOrder = Annotated[
    ExperimentSort,
    Query(description="Order of the list."),
]
RunOrder = Annotated[
    RunSort,
    Query(description="Order of the list; with `ended_at` it has only runs that have ended."),
]
SeriesName = Annotated[
    str, Query(min_length=1, max_length=200, pattern=NO_NUL, description="Name of the series.", examples=["loss"])
]
MAX_SERIES = 50  # of one answer
SeriesNames = Annotated[
    Sequence[SeriesName],
    Query(description=f"Names of series, at most {MAX_SERIES}; without one, loss, accuracy and times first."),
]
MetricColumns = Annotated[
    Sequence[SeriesName],
    Query(
        max_length=MAX_SERIES,
        description="Names of the metrics that `latest` has; repeat it. Without one it has the engine's own and the "
        "first 200 others, with at most 8 KiB of names; `more_metrics` counts those left out.",
    ),
]
MAX_CURVES = 200  # more curves than a reader can distinguish in one chart
MAX_RUNS = 500  # of one comparison
RunIds = Annotated[
    Sequence[Annotated[int, Query(ge=0, le=MAX_INTEGER, examples=[42])]],
    Query(min_length=1, max_length=MAX_RUNS, description="Ids of the runs; repeat it.", examples=[[12, 15, 40]]),
]
RunCursor = Annotated[str, Query(pattern=r"^[0-9]{1,10}:[0-9]{1,10}$", examples=["42:1200"])]


def steps_of(cursors: Sequence[str]) -> dict[int, int]:
    """Return the step of each RUN:STEP, at most the largest step that a database stores."""
    pairs = (pair.split(":") for pair in cursors)
    return {int(run): min(int(step), MAX_INTEGER) for run, step in pairs}


def _experiment_filter(
    q: SearchText = None,
    tag: TagName = None,
    owner: OwnerName = None,
    project: ProjectName = None,
    archived: Archived = False,
) -> list[ColumnElement[bool]]:
    which = visible(Experiment, archived=archived)
    which += [] if q is None else [has_text(q)]
    which += [] if tag is None else [experiments_with(tag)]
    which += [] if owner is None else [Experiment.owner == owner]
    return which + ([] if project is None else [Experiment.project == project])


def _run_filter(q: RunText = None, tag: TagName = None, archived: Archived = False) -> list[ColumnElement[bool]]:
    which = visible(Run, archived=archived)
    which += [] if q is None else [run_has_text(q)]
    return which + ([] if tag is None else [runs_with(tag)])


ExperimentFilter = Annotated[list[ColumnElement[bool]], Depends(_experiment_filter)]
RunFilter = Annotated[list[ColumnElement[bool]], Depends(_run_filter)]


def list_order(db: Session, table: type[Experiment] | type[Run], sort: str, before: int | None) -> ListOrder:
    """Return the order of a list from the cursor on; raise Invalid for a cursor that is not in the list."""
    try:
        return order_rows(db, table, sort, after=before)
    except UnknownRowError as error:
        message = f"the list in the order {sort} has no item {before} from which it could continue"
        raise Invalid("the request is not valid", [ValidationIssue(path="before", message=message)]) from error


# The forms of ids in paths: {run_id:id} and {name:hash}. A path of another form is another path, so that a word such as
# /runs/names is never taken for the id of a run, by no method.
class IdConvertor(StringConvertor):
    """A number; FastAPI checks how large it may be."""

    regex = "[0-9]+"


class HashConvertor(StringConvertor):
    """A SHA-256 in small hexadecimal digits."""

    regex = "[0-9a-f]{64}"


register_url_convertor("id", IdConvertor())
register_url_convertor("hash", HashConvertor())
