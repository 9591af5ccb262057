"""Sources of a run's folder, whose events are appended to its events file."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.sources import Sources
from contract.folder.events import Event, event_reader
from tests.testing.scripts import make_run_folder

Open = Callable[..., Sources]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_run_folder(tmp_path / "run")


@pytest.fixture
def open_sources(folder: Path) -> Open:
    def emit(events: Sequence[Mapping[str, Any]]) -> bool:
        with (folder / "events.jsonl").open("a") as file:
            file.write("".join(f"{json.dumps(event)}\n" for event in events))
        return True

    def open_(*specs: Mapping[str, Any], attempt: int = 1) -> Sources:
        return Sources(str(folder), specs, emit, attempt=attempt)

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
