"""The base class of all tables: the names of constraints, and the types of columns by their annotations."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, MetaData
from sqlalchemy.orm import DeclarativeBase

import store.clock
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.pending_reason import PendingReason
from contract.lifecycle.reason import StopSource
from contract.lifecycle.reuse import Reuse
from contract.lifecycle.state import State
from store.tables.column_types import EnumText, UtcDateTime


def now() -> datetime:
    """Return the present moment by the service's one clock."""
    return store.clock.now()


class Table(DeclarativeBase):
    metadata = MetaData(
        naming_convention={
            "pk": "pk_%(table_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "ix": "ix_%(table_name)s_%(column_0_name)s",
            "uq": "uq_%(table_name)s_%(column_0_name)s",
        }
    )
    type_annotation_map = {
        dict[str, Any]: JSON,
        list[str]: JSON,
        datetime: UtcDateTime,
        State: EnumText(State),
        ExitCause: EnumText(ExitCause),
        PendingReason: EnumText(PendingReason),
        StopSource: EnumText(StopSource),
        Reuse: EnumText(Reuse),
    }
