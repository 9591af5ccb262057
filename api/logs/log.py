"""GET /runs/ID/log: a part of a run's log by offset, or the lines of a rank, a level or with a text."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from sqlalchemy import Engine

from api.http.statuses import ITEM
from api.logs.search import MAX_LINE, LogQuery, search
from api.parameters import MAX_INTEGER, NO_NUL, RunId
from api.rows import found_run
from contract.api.curves import LogLevel, LogPart
from contract.folder.files.untrusted_file import RegularFile
from contract.folder.run_folder import RunFolder
from store.session import snapshot
from store.tables.runs import Run

router = APIRouter(prefix="/runs", tags=["runs"])
MAX_OFFSET = 2**62  # of a file
LOCAL = "local"  # the cluster of this machine
UNFINISHED_S = 5.0  # for so long the end of a line may follow
NODE_LAUNCHERS = ("torchrun", "mpirun")  # the agents label the lines of their ranks, not srun

Offset = Annotated[
    int | None,
    Query(
        ge=-MAX_OFFSET,
        le=MAX_OFFSET,
        description="First byte to return, by default 0; below 0: this number of bytes before the end of the log. A "
        "search reads from here to the end, by default the whole log.",
        examples=[0],
    ),
]
Before = Annotated[
    int | None,
    Query(
        ge=0,
        le=MAX_OFFSET,
        description="A search reads the bytes before this one, by default before the end of the log: `before=offset` "
        "continues an earlier search.",
        examples=[1048576],
    ),
]
Size = Annotated[int, Query(ge=1, le=1_000_000, description="Largest number of bytes.")]


def _query(
    rank: Annotated[
        int | None, Query(ge=0, le=MAX_INTEGER, description="Search the lines of this rank.", examples=[3])
    ] = None,
    search: Annotated[
        str | None,
        Query(
            min_length=1,
            max_length=200,
            pattern=NO_NUL,
            description="Search the lines with this text; capitals do not matter.",
            examples=["out of memory"],
        ),
    ] = None,
    level: Annotated[
        LogLevel | None,
        Query(
            description="Search the lines of at least this level; a line that names none is `info`, and a traceback "
            "is an error as a whole.",
            examples=["warning"],
        ),
    ] = None,
) -> LogQuery:
    return LogQuery(rank, search, level)


@router.get("/{run_id:id}/log", responses=ITEM)
def get_run_log(
    run_id: RunId,
    request: Request,
    query: Annotated[LogQuery, Depends(_query)],
    offset: Offset = None,
    before: Before = None,
    limit: Size = 65_536,
) -> LogPart:
    """Return a part of the run's log; `offset=next` continues from there.

    With `rank`, `search` or `level` return the last lines that match; such a search ends after 64 MiB or a second, and
    `note` says so.
    """
    engine: Engine = request.app.state.engine
    with snapshot(engine) as db:
        run = found_run(db, run_id)
    runs_folder: Path = request.app.state.settings.runs_folder()
    try:
        file = RunFolder.of(runs_folder, run.id, run.key).open_log()
    except FileNotFoundError:
        return LogPart(text="", offset=0, next=0, size=0)
    with file:
        start = offset or 0
        start = max(0, file.size + start) if start < 0 else min(start, file.size)
        if query.is_empty:
            return _part(file, start, limit)
        end = file.size if before is None else before
        return _matches(file, run, query, start=start, end=end, limit=limit)


def _part(file: RegularFile, start: int, limit: int) -> LogPart:
    part = _whole_characters(file.read(start, limit), start + limit >= file.size)
    return LogPart(text=part.decode("utf-8", "replace"), offset=start, next=start + len(part), size=file.size)


def _matches(file: RegularFile, run: Run, query: LogQuery, *, start: int, end: int, limit: int) -> LogPart:
    query = replace(query, labels_are_ranks=_has_labels(run))
    end = min(end, _end_of_lines(file))
    start = min(start, end)
    found = search(file, query, first=start, end=end, limit=limit)
    return LogPart(
        text="".join(f"{line}\n" for line in found.lines),
        offset=found.start,
        next=found.end,
        size=file.size,
        note=_note(found.start, start, end, file.size),
        names_ranks=found.names_ranks,
    )


def _has_labels(run: Run) -> bool:
    """Return whether lines begin with their rank: the agent labels the lines of a program with several ranks only."""
    spec = run.spec
    if spec.get("kind") != "program" or (run.cluster != LOCAL and spec.get("launcher") not in NODE_LAUNCHERS):
        return True
    resources = spec.get("resources") or {}
    ranks = int(resources.get("nodes") or 1) * int(resources.get("ranks_per_node") or 1)
    return ranks > 1 or bool(resources.get("many_core"))


def _end_of_lines(file: RegularFile) -> int:
    """Return the end of the last whole line, or of the file if nothing is written to its last line any more."""
    if time.time() - file.written_at > UNFINISHED_S:
        return file.size
    begin = max(0, file.size - MAX_LINE)
    last = file.read(begin, MAX_LINE).rfind(b"\n")
    return file.size if last < 0 else begin + last + 1


def _note(start: int, first: int, end: int, size: int) -> str | None:
    if start <= first:
        return None
    where = f"the last {end - start:,}" if end == size else f"{end - start:,}"
    return f"the search read {where} of {size:,} bytes; before={start} continues it"


def _whole_characters(part: bytes, at_end: bool) -> bytes:
    """`part` without the first bytes of a character whose last ones are yet to come."""
    if at_end and not part:
        return part
    for back in range(1, min(4, len(part)) + 1):
        byte = part[-back]
        if byte & 0xC0 != 0x80:  # the first byte of a character, of `length` bytes
            length = (
                1 if byte < 0x80 else 2 if byte >> 5 == 6 else 3 if byte >> 4 == 14 else 4 if byte >> 3 == 30 else 1
            )
            return part[:-back] if length > back and len(part) > back else part
    return part
