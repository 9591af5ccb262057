"""The tables of searches: their state, and their trials with all that was told to the sampler."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from contract.lifecycle.trial import EndCause, TrialStatus
from store.tables.base import Table, now
from store.tables.column_types import EnumText

IS_OPEN = text("ended_at IS NULL")


class Search(Table):
    """A search of an experiment, or of one of its steps.

    `version` grows with every change of the search and its trials: a tick stores its decisions only on the version from
    which it made them.
    """

    __tablename__ = "searches"
    __table_args__ = (
        UniqueConstraint("experiment_id", "step"),
        Index("ix_searches_open", "id", sqlite_where=IS_OPEN, postgresql_where=IS_OPEN),
    )
    id: Mapped[int] = mapped_column(primary_key=True)
    experiment_id: Mapped[int] = mapped_column(ForeignKey("experiments.id"))
    step: Mapped[str] = mapped_column(default="")  # empty: the experiment's own
    spec: Mapped[dict[str, Any]]  # with the number of trials and the budget as they were extended
    base: Mapped[dict[str, Any]]  # the document of a run into which the values of a trial are put
    trials: Mapped[int]  # how many there shall be
    version: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[datetime] = mapped_column(default=now)
    paused_at: Mapped[datetime | None]  # somebody asked for it
    stop_requested_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    end_cause: Mapped[EndCause | None] = mapped_column(EnumText(EndCause))


class Trial(Table):
    """One point of a search: the runs `first_run` and following of its experiment."""

    __tablename__ = "trials"
    __table_args__ = ({"sqlite_with_rowid": False},)
    search_id: Mapped[int] = mapped_column(ForeignKey("searches.id"), primary_key=True, autoincrement=False)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    params: Mapped[dict[str, Any]]
    memory: Mapped[dict[str, Any]]  # what the sampler noted on it
    seed: Mapped[int]  # of the sampler
    status: Mapped[TrialStatus] = mapped_column(EnumText(TrialStatus))
    bracket: Mapped[int] = mapped_column(default=0)
    rungs: Mapped[list[float | None]] = mapped_column(JSON)  # its value at each comparison; null: it had diverged
    value: Mapped[float | None]  # null: none yet, or it failed or diverged
    first_run: Mapped[int]  # number in the experiment
    runs: Mapped[int]  # 0: the values make no valid run
    message: Mapped[str | None]  # why it failed
    asked_at: Mapped[datetime] = mapped_column(default=now)
    ended_at: Mapped[datetime | None]  # when its end was stored, from which on the sampler knows it
