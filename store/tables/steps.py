"""The tables of steps: the steps of workflows, the history of their states, and the code that they will run."""

from datetime import datetime

from sqlalchemy import JSON, ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from contract.lifecycle.step import StepReason, StepState, step_reason_adapter
from store.tables.base import Table, now
from store.tables.column_types import EnumText, ModelJson

STEP_STATE, STEP_REASON = EnumText(StepState), ModelJson(step_reason_adapter)


class Step(Table):
    """A step of an experiment; its runs refer to it by `Run.step_id`."""

    __tablename__ = "steps"
    __table_args__ = (
        UniqueConstraint("experiment_id", "name"),
        Index("ix_steps_state", "state", "experiment_id"),  # the tick `plan` reads the open ones
    )
    id: Mapped[int] = mapped_column(primary_key=True)
    experiment_id: Mapped[int] = mapped_column(ForeignKey("experiments.id"))
    position: Mapped[int]  # in the experiment's spec
    name: Mapped[str]
    needs: Mapped[list[str]] = mapped_column(JSON)  # names of steps, also of those to which it only refers
    on_failure: Mapped[str]
    max_parallel: Mapped[int | None]
    pack: Mapped[int | None]
    force: Mapped[bool] = mapped_column(default=False)  # its runs take no finished run's result
    state: Mapped[StepState] = mapped_column(STEP_STATE, default=StepState.WAITING)
    reason: Mapped[StepReason | None] = mapped_column(STEP_REASON)
    expanded_at: Mapped[datetime | None]  # when it got its runs, once
    created_at: Mapped[datetime] = mapped_column(default=now)
    moved_at: Mapped[datetime] = mapped_column(default=now)  # when `state` last changed
    ended_at: Mapped[datetime | None]


class StepMove(Table):
    """One entry of a step's history."""

    __tablename__ = "step_moves"
    id: Mapped[int] = mapped_column(primary_key=True)
    step_id: Mapped[int] = mapped_column(ForeignKey("steps.id"), index=True)
    old: Mapped[StepState | None] = mapped_column(STEP_STATE)
    new: Mapped[StepState] = mapped_column(STEP_STATE)
    reason: Mapped[StepReason | None] = mapped_column(STEP_REASON)
    at: Mapped[datetime] = mapped_column(default=now)


class StepCode(Table):
    """A code snapshot that the runs of a step will need: it stays although no run names it yet."""

    __tablename__ = "step_codes"
    __table_args__ = (Index("ix_step_codes_code", "code"), {"sqlite_with_rowid": False})
    step_id: Mapped[int] = mapped_column(ForeignKey("steps.id"), primary_key=True, autoincrement=False)
    code: Mapped[str] = mapped_column(primary_key=True)
