"""Faults that only own programs have: their agents, their rank processes, and the tools that the agents are."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from lab import processes
from lab.processes import Process
from tests.testing.faults.field import Field, Mishap
from tests.testing.faults.programs import script
from tests.testing.faults.programs.changed_tools import GENERATION, INTERRUPT

PICKED_UP_S = 30.0  # programs are submitted all the time
SCRIPT = str(Path(script.__file__).resolve())


def agents_of(folder: str) -> list[int]:
    """Return the agents of a run on all hosts, and the workers of torchrun."""
    return _find(folder, lambda words: any(word.endswith("/agent") for word in words) and "--guard" not in words)


def ranks_of(folder: str) -> list[int]:
    """Return the processes of the program itself."""
    return _find(folder, lambda words: SCRIPT in words and not any(word.endswith("/agent") for word in words))


def _find(folder: str, is_wanted: Callable[[list[str]], bool]) -> list[int]:
    place = Path(folder).resolve()

    def is_mine(process: Process) -> bool:
        words = list(process.words)
        named = any(word.startswith("/") and Path(word).resolve() == place for word in words)
        return named and process.program.startswith("python") and is_wanted(words)

    return [process.pid for process in processes.iter_processes() if is_mine(process)]


def agent_killed(on: Field) -> bool:
    """SIGKILL to one agent of a program."""
    return _signal_one(on, agents_of, signal.SIGKILL)


def program_killed(on: Field) -> bool:
    """SIGKILL to one rank's process under its agent."""
    return _signal_one(on, ranks_of, signal.SIGKILL)


def program_stopped(on: Field) -> bool:
    """SIGSTOP to one rank's process; nothing lets it go on."""
    return _signal_one(on, ranks_of, signal.SIGSTOP)


def tools_interrupted(on: Field) -> bool:
    """Change the tools as an upgrade does, and kill the worker that copies them in the middle."""
    request = on.home / INTERRUPT
    draft = request.with_suffix(".draft")
    draft.write_text(str(on.dice.randint(0, 60)))
    (on.home / GENERATION).write_text(f'"""Version {time.time_ns()}."""\n')
    draft.replace(request)
    until = time.monotonic() + PICKED_UP_S
    while request.exists() and time.monotonic() < until:
        time.sleep(0.2)
    try:
        request.unlink()
    except FileNotFoundError:
        return True  # chaos starts ended workers anew after each fault
    return False


def _signal_one(on: Field, find: Callable[[str], list[int]], number: signal.Signals) -> bool:
    until = time.monotonic() + on.patience_s
    while True:  # a run that the service calls running may have ended a moment ago
        run = on.running(kind="program")
        found = find(run["folder"]) if run else []
        if found or time.monotonic() > until:
            break
        time.sleep(0.5)
    if not found:
        return False
    with suppress(ProcessLookupError):
        os.kill(on.dice.choice(found), number)
    return True


PROGRAM_MISHAPS: dict[str, Mishap] = {
    "agent killed": agent_killed,
    "program killed": program_killed,
    "program stopped": program_stopped,
    "tools interrupted": tools_interrupted,
}
