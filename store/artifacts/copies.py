"""Copies of runs' curves, figures and outputs, as they are packed: no point is unpacked."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import Select, insert, literal, select
from sqlalchemy.orm import Session, aliased

from contract.lifecycle.artifact import ArtifactKind
from store.tables.artifacts import Artifact
from store.tables.points import CellBlock, Chunk, Figure, Series
from store.tables.runs import Run

_SERIES = ("name", "tail", "first_step", "chunked_to", "open_chunk", "cell_width")
_ARTIFACT = ("name", "holder_id", "kind", "path", "size_bytes", "files", "sha256", "created_at")


def copy_results(db: Session, run_ids: Collection[int], kinds: Collection[ArtifactKind]) -> None:
    """Give runs without points the curves, figures and artifacts (of these kinds) of the runs in `taken_from`."""
    _copy_points(db, run_ids)
    mine = Run.id.in_(run_ids)
    others = [column for column in Figure.__table__.columns if column.name != "run_id"]
    figures = select(Run.id, *others).join(Figure, Figure.run_id == Run.taken_from).where(mine)
    _insert(db, Figure, ["run_id", *(column.name for column in others)], figures)
    columns = [getattr(Artifact, name) for name in _ARTIFACT]
    there = (Artifact.removed_at.is_(None), Artifact.kind.in_(kinds))
    found = select(Run.id, literal(0), literal(False), *columns).join(Artifact, Artifact.run_id == Run.taken_from)
    _insert(db, Artifact, ["run_id", "attempt", "has_retention", *_ARTIFACT], found.where(mine, *there))


def _copy_points(db: Session, run_ids: Collection[int]) -> None:
    """Copy series by name, then the chunks and cells of each to the copy of that name."""
    mine, old, new = Run.id.in_(run_ids), aliased(Series), aliased(Series)
    series = select(Run.id, *(getattr(old, name) for name in _SERIES)).join(old, old.run_id == Run.taken_from)
    _insert(db, Series, ["run_id", *_SERIES], series.where(mine))
    for table in (Chunk, CellBlock):
        others = [column for column in table.__table__.columns if column.name != "series_id"]
        rows = select(new.id, *others).select_from(Run).join(old, old.run_id == Run.taken_from)
        rows = rows.join(new, (new.run_id == Run.id) & (new.name == old.name)).join(table, table.series_id == old.id)
        _insert(db, table, ["series_id", *(column.name for column in others)], rows.where(mine))


def _insert(db: Session, table: type[Any], names: list[str], rows: Select[Any]) -> None:
    db.execute(insert(table).from_select(names, rows))
