"""The stacks of a program's ranks: attempts/N.stacks-R.txt, written by the ranks and by their agents."""

import re
from contextlib import suppress
from pathlib import Path

from pydantic import Field

from contract.described_model import DescribedModel
from contract.folder.files.untrusted_file import UnreadableFileError, list_folder, open_file

MAX_BYTES = 32 << 10  # of a rank: dozens of threads
MAX_FILES = 100_000  # names read of the folder
_NAME = re.compile(r"([1-9][0-9]{0,8})\.stacks-(0|[1-9][0-9]{0,8})\.txt")


class RankStacks(DescribedModel):
    """The newest stacks of one rank."""

    rank: int = Field(examples=[3])
    """Number of the rank, from 0."""
    written_at: float = Field(examples=[1_795_420_800.0])
    """When the file was written, by the clock of the file's server: seconds since 1970."""
    text: str = Field(examples=['Thread 0x7f (most recent call first):\n  File "train.py", line 12 in <module>\n'])
    """The stacks as text, at most 32 KiB; bytes that are no UTF-8 are replaced by U+FFFD."""


class AttemptStacks(DescribedModel):
    """The stacks of ranks of one attempt."""

    attempt: int = Field(examples=[1])
    """Number of the attempt, from 1; 0 if no attempt has any."""
    ranks: list[RankStacks]
    """The ranks, in ascending order."""
    next: int | None = Field(examples=[63])
    """`after` of the next request; null: no more ranks."""


def read_stacks(folder: Path, *, after: int, limit: int) -> AttemptStacks:
    """Return the stacks of the latest attempt that has any, of at most `limit` ranks above `after`."""
    names = filter(None, map(_NAME.fullmatch, list_folder(folder, "attempts", MAX_FILES)))
    found = [(int(name[1]), int(name[2])) for name in names]
    attempt = max((number for number, _ in found), default=0)
    ranks = sorted(rank for number, rank in found if number == attempt and rank > after)
    stacks = []
    for rank in ranks[:limit]:
        with suppress(FileNotFoundError, UnreadableFileError), open_file(folder, _file(attempt, rank)) as file:
            text = file.read(0, MAX_BYTES).decode("utf-8", "replace")
            stacks.append(RankStacks(rank=rank, written_at=file.written_at, text=text))
    return AttemptStacks(attempt=attempt, ranks=stacks, next=ranks[limit - 1] if len(ranks) > limit else None)


def _file(attempt: int, rank: int) -> str:
    return f"attempts/{attempt}.stacks-{rank}.txt"
