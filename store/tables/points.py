"""The tables of points: series, their chunks (the lower layer) and blocks of cells (the upper layer), and figures."""

from sqlalchemy import BigInteger, ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from store.tables.base import Table


class Series(Table):
    """One curve of one run, with its newest points: those that are in no chunk yet."""

    __tablename__ = "series"
    __table_args__ = (UniqueConstraint("run_id", "name"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"))
    name: Mapped[str]
    tail: Mapped[bytes] = mapped_column(default=b"")  # store/metrics/packing.py
    first_step: Mapped[int | None]  # of the first chunk
    chunked_to: Mapped[int] = mapped_column(default=-1, server_default="-1")  # the last step of the last chunk
    open_chunk: Mapped[int | None]  # the first step of the last chunk, if that has room for further points
    cell_width: Mapped[int] = mapped_column(default=0, server_default="0")  # steps of its finest cells; 0: no cells


class Chunk(Table):
    """Successive points of a series, packed."""

    __tablename__ = "chunks"
    __table_args__ = {"sqlite_with_rowid": False}
    series_id: Mapped[int] = mapped_column(ForeignKey("series.id"), primary_key=True, autoincrement=False)
    first_step: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    last_step: Mapped[int]
    count: Mapped[int]
    data: Mapped[bytes]


class CellBlock(Table):
    """Successive cells of one width of a series, packed: each cell sums up the points of so many steps."""

    __tablename__ = "cell_blocks"
    __table_args__ = {"sqlite_with_rowid": False}
    series_id: Mapped[int] = mapped_column(ForeignKey("series.id"), primary_key=True, autoincrement=False)
    level: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # 0: the finest cells
    block: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    data: Mapped[bytes]


class Figure(Table):
    """What the points of one series of a run sum up to, without the series of single ranks above 0 and of nodes."""

    __tablename__ = "figures"
    __table_args__ = (Index("ix_figures_run_id", "run_id"), {"sqlite_with_rowid": False})
    name: Mapped[str] = mapped_column(primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"), primary_key=True, autoincrement=False)
    last_step: Mapped[int]
    last: Mapped[float | None]  # null: not a finite number
    size: Mapped[int] = mapped_column(BigInteger)  # of the finite values, to which the others belong
    least: Mapped[float | None]
    most: Mapped[float | None]
    mean: Mapped[float | None]
    not_finite: Mapped[str | None]  # the last value where `last` is null: nan, inf or -inf
    not_finite_from: Mapped[int | None]  # the first step after the last finite value


class PointWriter(Table):
    """A client that sends points of a run in numbered batches."""

    __tablename__ = "point_writers"
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"), primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(primary_key=True)
    stored: Mapped[int]  # number of the last batch
