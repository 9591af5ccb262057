"""Further points of a stored experiment: checked as those of a new one, and stored with those that it has not yet."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from contract.api.lifecycle import PointsRequest
from contract.spec.expanded import Expanded
from contract.spec.experiment import ExperimentSpec
from contract.spec.grid.grid import MAX_POINTS, Values
from contract.spec.recorded.stored_run import is_recorded
from orders.checks.code import check_code
from orders.checks.initial_weights import with_initial_weights
from orders.checks.service import check_service
from orders.folders import Folders
from orders.new_points import NOT_VALID, extra_points, grown_grid
from orders.refused import Refused, conflict, invalid, no_experiment
from store import experiments
from store.lifecycle import added_points
from store.lifecycle.added_points import NewPoints
from store.session import snapshot, transaction


@dataclass(frozen=True)
class Added:
    """The ids of the new runs, and how many of the points the experiment had already."""

    run_ids: list[int]
    existing: int


@dataclass(frozen=True)
class _Checked:
    """The points of a request after all checks that take long or read files."""

    read: dict[str, Any]  # the spec of the experiment when it was checked
    grows: bool
    asked: Expanded  # with the larger grid, if it grows; first its points, then those outside it
    in_grid: int  # so many of the points


def add_points(
    engine: Engine, folders: Folders, experiment_id: int, asked: PointsRequest, *, force: bool = False
) -> Added | Refused:
    """Queue runs for further points of an experiment; a point that it has already is not repeated.

    `force` trusts no report of a cluster. It reads files, so the caller holds no transaction. Raise OSError if a folder
    gives no answer.
    """
    with snapshot(engine) as db:
        read = _read(db, experiment_id, asked.like)
    if isinstance(read, Refused):
        return read
    # ten thousand points take a second, and no other transaction waits for them
    checked = _check(engine, folders, *read, asked)
    if isinstance(checked, Refused):
        return checked
    with transaction(engine) as db:
        return _store(db, experiment_id, checked, force=force)


def _read(db: Session, experiment_id: int, like: int | None) -> tuple[dict[str, Any], list[Values]] | Refused:
    """Return the spec of an experiment whose points are known at its start, and the points that `like` adds."""
    experiment = experiments.find(db, experiment_id)
    if experiment is None:
        return no_experiment(experiment_id)
    other = None if like is None else experiments.find(db, like)
    if like is not None and other is None:
        return no_experiment(like)
    spec = experiment.spec
    if spec.get("base") is None:
        return conflict(
            f"experiment {experiment_id} has steps, whose grids are those of its spec: clone it with other axes"
        )
    if is_recorded(spec["base"]):
        return conflict(f"the runs of experiment {experiment_id} were carried out elsewhere: it has no points to start")
    if spec.get("search"):
        return conflict(
            f"the sampler of experiment {experiment_id} chooses its points: POST .../search/extend adds trials"
        )
    return spec, (other.added_points if other else None) or []


def _check(
    engine: Engine, folders: Folders, read: dict[str, Any], like: list[Values], asked: PointsRequest
) -> _Checked | Refused:
    grid = grown_grid(read, asked.axes) if asked.axes else None
    if isinstance(grid, Refused):
        return grid
    extra = extra_points(read, [*asked.points, *like])
    if isinstance(extra, Refused):
        return extra
    spec, in_grid = (ExperimentSpec.from_stored(read), []) if grid is None else (grid.spec, grid.points)
    numbers = [*range(len(in_grid)), *(spec.grid.size + number for number in range(len(extra)))]
    resolved = with_initial_weights(engine, Expanded(spec, [*in_grid, *extra], numbers), folders.runs)
    if isinstance(resolved, Refused):
        return resolved
    if refused := check_code(engine, resolved, folders.snapshots):
        return refused
    return _Checked(read, grid is not None, resolved, len(in_grid))


def _store(db: Session, experiment_id: int, checked: _Checked, *, force: bool) -> Added | Refused:
    experiment = added_points.lock(db, experiment_id)
    if experiment is None or experiment.spec != checked.read:
        return conflict(f"experiment {experiment_id} has changed meanwhile: send the request again")
    asked = checked.asked
    new = added_points.new_points(db, experiment_id, asked.points[: checked.in_grid], asked.points[checked.in_grid :])
    if refused := _check_number(new) or check_service(db, asked.only([*new.grid, *new.extra]), force=force):
        return refused
    return Added(added_points.add(db, experiment, asked.spec if checked.grows else None, new), new.existing)


def _check_number(new: NewPoints) -> Refused | None:
    if new.total <= MAX_POINTS:
        return None
    return invalid(
        NOT_VALID, "points", f"the experiment would have {new.total:,} runs, more than the limit of {MAX_POINTS:,}"
    )
