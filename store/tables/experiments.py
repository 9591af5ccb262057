"""The tables of experiments: experiments, their tags, and the fields of their base runs."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index, String, text
from sqlalchemy.orm import Mapped, mapped_column

from store.tables.base import Table, now

IS_ARCHIVED, IS_DELETED = text("archived_at IS NOT NULL"), text("deleted_at IS NOT NULL")
RESTORABLE: dict[str, Any] = {f"{db}_where": text("restorable_until IS NOT NULL") for db in ("sqlite", "postgresql")}


class Experiment(Table):
    __tablename__ = "experiments"
    __table_args__ = (
        Index("ix_experiments_created_at", "created_at", "id"),
        Index("ix_experiments_owner", "owner", "id"),
        Index("ix_experiments_project", "project", "id"),
        Index("ix_experiments_archived_at", "archived_at", sqlite_where=IS_ARCHIVED, postgresql_where=IS_ARCHIVED),
        Index("ix_experiments_restorable_until", "restorable_until", **RESTORABLE),
        Index("ix_experiments_deleted_at", "deleted_at", sqlite_where=IS_DELETED, postgresql_where=IS_DELETED),
    )
    id: Mapped[int] = mapped_column(primary_key=True)
    # in the order of code points on both databases; PostgreSQL's default is the rules of a language
    name: Mapped[str] = mapped_column(String().with_variant(String(collation="C"), "postgresql"), index=True)
    description: Mapped[str] = mapped_column(default="")
    spec: Mapped[dict[str, Any]]
    max_parallel: Mapped[int | None]
    pack: Mapped[int | None]  # so many of its runs share a job
    key: Mapped[str | None] = mapped_column(index=True, unique=True)  # of the request: sent twice, done once
    created_at: Mapped[datetime] = mapped_column(default=now)
    notes: Mapped[str] = mapped_column(default="", server_default="")
    owner: Mapped[str] = mapped_column(default="", server_default="")
    project: Mapped[str] = mapped_column(default="", server_default="")
    origin_id: Mapped[int | None]  # the experiment that it repeats or varies; that may be deleted since
    added_points: Mapped[list[dict[str, Any]] | None] = mapped_column(JSON)  # outside the grid of `spec`
    objective: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))  # store/metrics/objectives.py
    table_base: Mapped[dict[str, Any] | None] = mapped_column(JSON)  # of a workflow: stands for `base` in the run table
    archived_at: Mapped[datetime | None]  # lists hide it
    deleted_at: Mapped[datetime | None]  # nothing shows it, and the tick `delete` removes it
    restorable_until: Mapped[datetime | None]  # null once its removal may have begun


class ExperimentTag(Table):
    __tablename__ = "experiment_tags"
    __table_args__ = (Index("ix_experiment_tags_tag", "tag", "experiment_id"),)
    experiment_id: Mapped[int] = mapped_column(ForeignKey("experiments.id"), primary_key=True, autoincrement=False)
    tag: Mapped[str] = mapped_column(primary_key=True)


class ExperimentField(Table):
    """A field of an experiment's base run."""

    __tablename__ = "experiment_fields"
    __table_args__ = (Index("ix_experiment_fields_experiment_id", "experiment_id"), {"sqlite_with_rowid": False})
    path: Mapped[str] = mapped_column(primary_key=True)
    experiment_id: Mapped[int] = mapped_column(ForeignKey("experiments.id"), primary_key=True, autoincrement=False)
    number: Mapped[float | None]
    text: Mapped[str | None]
