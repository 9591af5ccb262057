"""Types of the labels of experiments and runs."""

from typing import Annotated

from pydantic import Field

ONE_LINE = r"^[^\x00-\x1f\x7f]*\S[^\x00-\x1f\x7f]*$"
LINE_OR_EMPTY = r"^[^\x00-\x1f\x7f]*$"
MAX_TAGS = 50

Name = Annotated[str, Field(min_length=1, max_length=200, pattern=ONE_LINE)]
Notes = Annotated[str, Field(max_length=100_000, pattern=r"^[^\x00]*$")]
Owner = Annotated[str, Field(max_length=100, pattern=LINE_OR_EMPTY)]
Project = Annotated[str, Field(max_length=100, pattern=LINE_OR_EMPTY)]
# one word without commas, so that tags can be listed on a command line
Tag = Annotated[str, Field(min_length=1, max_length=60, pattern=r"^[^\s,\x00-\x1f\x7f]+$")]
