"""Types of columns: moments in UTC, enums as text, models of the contract as JSON."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, TypeAdapter
from sqlalchemy import JSON, DateTime, Dialect, String, TypeDecorator

E = TypeVar("E", bound=StrEnum)


class UtcDateTime(TypeDecorator[datetime]):
    """Store a moment in UTC. SQLite does not store the zone, so reading adds it again."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value.replace(tzinfo=UTC) if value and value.tzinfo is None else value


class EnumText(TypeDecorator[E], Generic[E]):
    """Store a StrEnum as its text. A new member needs no migration."""

    impl = String
    cache_ok = True

    def __init__(self, enum: type[E]) -> None:
        super().__init__()
        self.enum = enum

    def process_result_value(self, value: str | None, dialect: Dialect) -> E | None:
        return None if value is None else self.enum(value)


class ModelJson(TypeDecorator[BaseModel]):
    """Store a pydantic model, or a union of models with a discriminator, as JSON; None becomes NULL."""

    impl = JSON(none_as_null=True)
    cache_ok = False

    def __init__(self, adapter: TypeAdapter[Any]) -> None:
        super().__init__()
        self.adapter = adapter

    def process_bind_param(self, value: BaseModel | None, dialect: Dialect) -> Any:
        return None if value is None else value.model_dump(mode="json", exclude_none=True)

    def process_result_value(self, value: Any, dialect: Dialect) -> BaseModel | None:
        return None if value is None else self.adapter.validate_python(value)
