"""In whose folder the files of runs are: in their own, or in that of the run whose result they took."""

from collections.abc import Collection
from typing import Any, NamedTuple

from sqlalchemy import and_, func, or_, select
from sqlalchemy.orm import Session, aliased

from store.tables.runs import Run


class Holder(NamedTuple):
    """The run in whose folder the files of a run are, and the spec of the run itself."""

    id: int
    key: str
    spec: dict[str, Any]


def holders_of(db: Session, run_ids: Collection[int]) -> dict[int, Holder]:
    """Return the holder of each of these runs; a run is left out if it or its holder does not exist or is deleted."""
    source = aliased(Run)
    columns = (Run.id, func.coalesce(source.id, Run.id), func.coalesce(source.key, Run.key), Run.spec)
    query = select(*columns).outerjoin(source, source.id == Run.taken_from)
    has_files = or_(Run.taken_from.is_(None), and_(source.id.is_not(None), source.deleted_at.is_(None)))
    rows = db.execute(query.where(Run.id.in_(run_ids), Run.deleted_at.is_(None), has_files))
    return {row[0]: Holder(*row[1:]) for row in rows}
