"""The number types of spec fields."""

from typing import Annotated

from pydantic import Field

Count = Annotated[int, Field(ge=1, le=2**31 - 1)]
Fraction = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
MAX_STAGES = 1000  # of a rate, of a batch, or milestones
