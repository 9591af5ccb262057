"""The tables of the calls of clusters' commands: slots of the rate limit, and counts."""

from sqlalchemy import BigInteger
from sqlalchemy.orm import Mapped, mapped_column

from store.tables import Table


class CallSlot(Table):
    """One call of a cluster's commands that is allowed per minute; there are as many slots as calls."""

    __tablename__ = "call_slots"
    cluster: Mapped[str] = mapped_column(primary_key=True)
    slot: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    at: Mapped[float]  # seconds since 1970 when it was last used
    kind: Mapped[str] = mapped_column(default="", server_default="")  # of the call that used it


class CallKind(Table):
    """A kind of a cluster's calls: how many slots only this kind may use, and when it last used a slot."""

    __tablename__ = "call_kinds"
    cluster: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(primary_key=True)
    reserve: Mapped[int]
    at: Mapped[float]  # seconds since 1970; 0 before the first call


class NoAnswer(Table):
    """When a cluster's controller last gave no answer; 0 once it answers again."""

    __tablename__ = "silences"
    cluster: Mapped[str] = mapped_column(primary_key=True)
    at: Mapped[float]  # seconds since 1970


class CallCount(Table):
    """How often each of a cluster's commands was called, how it ended and how long it took."""

    __tablename__ = "call_counts"
    cluster: Mapped[str] = mapped_column(primary_key=True)
    command: Mapped[str] = mapped_column(primary_key=True)
    outcome: Mapped[str] = mapped_column(primary_key=True)
    count: Mapped[int] = mapped_column(BigInteger)
    seconds: Mapped[float]
