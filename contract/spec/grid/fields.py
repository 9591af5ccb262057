"""Types of the fields that describe a grid: of an experiment without steps, and of each step."""

from typing import Annotated, Any

from pydantic import Field

Axes = dict[str, Annotated[list[Any], Field(min_length=1)]]
Variants = list[Annotated[dict[str, Any], Field(min_length=1)]]
MaxParallel = Annotated[int, Field(ge=1, le=100_000)] | None
