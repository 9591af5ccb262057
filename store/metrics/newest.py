"""The newest values of metrics that a run's row keeps for lists: a few of them; `figures` has all."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from contract.folder.bounds import MAX_NAME_BYTES
from contract.metric_names import KNOWN
from store.tables.points import Figure

MAX_LISTED, MAX_LISTED_BYTES = 200, 8 << 10  # metrics of a run in lists, and their names together
Newest = dict[str, float | None]  # by name of the metric; None: not a finite number


class Listed(NamedTuple):
    """The metrics of a run in a list."""

    latest: Newest
    more: int  # metrics of the run that are not in `latest`


def merge_latest(stored: Mapping[str, float | None], new: Mapping[str, float | None]) -> Newest:
    """Return the values for a run's row: those of the engine's own metrics, and of others in order of appearance."""
    merged: Newest = {}
    count = size = 0
    for values in (stored, new):
        for name, value in values.items():
            if name not in merged and name not in KNOWN:
                count, size = count + 1, size + len(name.encode())
                if count > MAX_LISTED or size > MAX_LISTED_BYTES:
                    count, size = count - 1, size - len(name.encode())
                    continue
            merged[name] = value
    return merged


def listed(db: Session, rows: Mapping[int, Newest], names: Sequence[str] = ()) -> dict[int, Listed]:
    """Return what a list shows of each run, by id: the metrics `names`, or without names those of its row (`rows`)."""
    found = _chosen(db, list(rows), names) if names else rows
    counts = _counts(db, [run_id for run_id, latest in found.items() if names or _may_lack(latest)])
    return {run_id: Listed(latest, max(0, counts.get(run_id, 0) - len(latest))) for run_id, latest in found.items()}


def _chosen(db: Session, run_ids: Sequence[int], names: Sequence[str]) -> dict[int, Newest]:
    found: dict[int, Newest] = {run_id: {} for run_id in run_ids}
    query = select(Figure.run_id, Figure.name, Figure.last)
    for run_id, name, last in db.execute(query.where(Figure.name.in_(names), Figure.run_id.in_(run_ids))):
        found[run_id][name] = last
    return found


def all_of(db: Session, run_id: int, kept: Mapping[str, float | None]) -> Newest:
    """Return the newest values of all metrics of a run, those of its row, `kept`, first."""
    query = select(Figure.name, Figure.last).where(Figure.run_id == run_id).order_by(Figure.name)
    others: Iterable[tuple[str, float | None]] = ((name, last) for name, last in db.execute(query))
    return dict(kept) | {name: last for name, last in others if name not in kept}


def _may_lack(latest: Mapping[str, float | None]) -> bool:
    """Return whether there was no room for a further metric of the longest name."""
    own = [name for name in latest if name not in KNOWN]
    return len(own) >= MAX_LISTED or sum(len(name.encode()) for name in own) > MAX_LISTED_BYTES - MAX_NAME_BYTES


def _counts(db: Session, run_ids: Sequence[int]) -> dict[int, int]:
    """Return the numbers of metrics of runs, without those of single ranks and of nodes."""
    if not run_ids:
        return {}
    query = select(Figure.run_id, func.count()).where(Figure.run_id.in_(run_ids)).group_by(Figure.run_id)
    return {row[0]: row[1] for row in db.execute(query)}
