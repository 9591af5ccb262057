"""Attempts of own programs: run folders, and agents as processes."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from contract.folder.events import Event, event_reader
from contract.folder.run_folder import RunFolder
from contract.spec.program.run import ProgramSpec
from tests.testing.servers import wait_for

AGENT = Path(__file__).parents[2] / "agent"


def program_folder(root: Path, command: str | Sequence[str], **fields: Any) -> RunFolder:
    """Write the folder of a run of this command, by default on one local rank."""
    words = command if isinstance(command, str) else list(command)
    spec = ProgramSpec.model_validate({"command": words, **fields})
    folder = RunFolder.of(root, 1, "cafe")
    folder.prepare(spec.model_dump(mode="json"), 1)
    return folder


def agent_words(folder: RunFolder, attempt: int | None = 1) -> list[str]:
    numbered = [] if attempt is None else ["--attempt", str(attempt)]
    return [sys.executable, "-I", "-S", "-u", str(AGENT), str(folder.path), *numbered]


@contextmanager
def agent(
    folder: RunFolder, attempt: int | None = 1, environment: Mapping[str, str] | None = None
) -> Iterator["subprocess.Popen[bytes]"]:
    """Start the agent as a local job is started; kill it at the end."""
    with folder.open_log_for_append() as log:
        child = subprocess.Popen(
            agent_words(folder, attempt),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, **(environment or {})},
            process_group=0,
        )
    try:
        yield child
    finally:
        child.kill()
        child.wait()


def run_agent(folder: RunFolder, attempt: int | None = 1, environment: Mapping[str, str] | None = None) -> int:
    """Carry out an attempt and return the exit status."""
    with agent(folder, attempt, environment) as child:
        return child.wait(300)


def events_of(folder: RunFolder) -> list[Event]:
    """Return the events as the scheduler reads them."""
    return [event_reader.validate_json(line) for line in folder.events.read_bytes().splitlines()]


def kinds_of(folder: RunFolder) -> list[str]:
    return [event.kind for event in events_of(folder)] if folder.events.exists() else []


def wait_for_line(folder: RunFolder, line: str, count: int = 1) -> None:
    """Wait until the log has so many of these lines, with the labels of ranks or without."""
    labelled = re.compile(rf"(?: *[0-9]+: )?{re.escape(line)}")
    wait_for(
        f"the line {line}",
        lambda: sum(bool(labelled.fullmatch(one)) for one in folder.log.read_text().splitlines()) >= count,
    )
