"""The number types of spec fields."""

from typing import Annotated

from pydantic import Field

Count = Annotated[int, Field(ge=1, le=2**31 - 1)]
Fraction = Annotated[float, Field(ge=0, lt=1)]
# float32 holds products of these numbers with the batch's scale, with each other and with a weight
LARGEST_FACTOR, LARGEST, SMALLEST = 1e9, 1e30, 1e-30
Positive = Annotated[float, Field(gt=0, ge=SMALLEST, le=LARGEST)]
PositiveFactor = Annotated[float, Field(gt=0, ge=SMALLEST, le=LARGEST_FACTOR)]  # of a weight or a gradient
NonNegative = Annotated[float, Field(ge=0, le=LARGEST_FACTOR)]
MAX_STAGES = 1000  # of a rate, of a batch, or milestones
