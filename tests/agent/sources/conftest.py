"""Sources of a run's folder, whose events are appended to its events file; and the files of lines of its ranks."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.sources import Sources
from contract.folder.events import Event, event_reader
from tests.testing.scripts import make_run_folder

Open = Callable[..., Sources]


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def lines_of(folder: Path, attempt: int = 1, rank: int = 0, kind: str = "out") -> Path:
    """Return the file of the lines of a rank."""
    return folder / "attempts" / f"{attempt}.lines-{rank}.{kind}"


def end_output(folder: Path, attempt: int = 1, ranks: int = 1) -> None:
    """Record the end of the output of all ranks, as the process does that has started them."""
    ends = {}
    for rank in range(ranks):
        for kind in ("out", "err"):
            path = lines_of(folder, attempt, rank, kind)
            ends[f"{rank}.{kind}"] = path.read_bytes().rfind(b"\n") + 1 if path.exists() else 0
    lines_of(folder, attempt, 0, "end").write_text(json.dumps(ends))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_run_folder(tmp_path / "run")


@pytest.fixture
def open_sources(folder: Path) -> Open:
    def emit(events: Sequence[Mapping[str, Any]]) -> bool:
        with (folder / "events.jsonl").open("a") as file:
            file.write("".join(f"{json.dumps(event)}\n" for event in events))
        return True

    def open_(*specs: Mapping[str, Any], attempt: int = 1, **fields: Any) -> Sources:
        return Sources(str(folder), specs, emit, attempt=attempt, **fields)

    return open_


@pytest.fixture
def events(folder: Path) -> Callable[[], list[Event]]:
    def read() -> list[Event]:
        path = folder / "events.jsonl"
        return [event_reader.validate_json(line) for line in path.read_bytes().splitlines()] if path.exists() else []

    return read


@pytest.fixture
def points(events: Callable[[], list[Event]]) -> Callable[[], list[tuple[int, dict[str, float | None]]]]:
    return lambda: [(event.step, event.values) for event in events() if event.kind == "points"]
