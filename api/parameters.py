"""Parameters of endpoints, with the limits of both databases: a PostgreSQL integer has 32 bits, a text has no NUL."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import Path, Query
from pydantic import AfterValidator, AwareDatetime

MAX_INTEGER = 2**31 - 1  # of a column of ids, numbers and steps

Id = Annotated[int, Path(ge=0, le=MAX_INTEGER)]
Cursor = Annotated[int | None, Query(ge=0, le=MAX_INTEGER, description="`next` of the previous page")]
Step = Annotated[int, Query(ge=-1, le=MAX_INTEGER, description="return only later items")]
Limit = Annotated[int, Query(ge=1, le=500)]
FIRST, LAST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)  # of moments in queries
# SQLite compares moments as text without a zone, so each is in UTC
Since = Annotated[
    AwareDatetime | None,
    Query(ge=FIRST, le=LAST, description="return only items created at this moment or later"),
    AfterValidator(lambda moment: moment and moment.astimezone(UTC)),
]
NamePart = Annotated[
    str | None,
    Query(
        min_length=1, max_length=200, pattern=r"^[^\x00]*$", description="return only items with this text in the name"
    ),
]
SeriesName = Annotated[str, Query(min_length=1, max_length=200, pattern=r"^[^\x00]*$")]
RunCursor = Annotated[str, Query(pattern=r"^[0-9]{1,10}:[0-9]{1,10}$")]
