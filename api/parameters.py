"""What endpoints take, within what a database's integers hold."""

from typing import Annotated

from fastapi import Path, Query

BIGGEST = 2**62

Id = Annotated[int, Path(ge=0, le=BIGGEST)]
Cursor = Annotated[int | None, Query(ge=0, le=BIGGEST, description="`next` of the page before")]
Step = Annotated[int, Query(ge=-1, le=BIGGEST, description="only what comes after it")]
Limit = Annotated[int, Query(ge=1, le=500)]
