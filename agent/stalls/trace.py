"""The stack of a rank's main thread as a Python traceback, from py-spy, from faulthandler, or from the hook's note."""

from __future__ import annotations

import re
from collections.abc import Sequence

MAX_CHARACTERS = 18_000
FAULT_THREAD = "(most recent call first):"
FAULT_FRAME = re.compile(r'  File "([^"]*)", line (\d+) in (.*)')
NOTED_FRAME = re.compile(r'  File "([^"]*)", line (\d+), in (.*)')
SPY_THREAD = re.compile(r'Thread .*"MainThread"')
SPY_FRAME = re.compile(r"    (\S.*) \((.+):(\d+)\)")
HOOK = "bigbatch/injected/"  # the wrappers of the hook are no part of the program


def trace_of(stacks: str) -> str:
    """Return the main thread's frames in the order of a Python traceback; empty if there are none."""
    lines = stacks.splitlines()
    spy = next((index for index, line in enumerate(lines) if SPY_THREAD.match(line)), None)
    if spy is not None:
        frames = [(found[2], found[3], found[1]) for found in _matches(SPY_FRAME, lines[spy + 1 :])]
        return _render(frames)
    threads = [index for index, line in enumerate(lines) if line.endswith(FAULT_THREAD)]
    if threads:  # faulthandler lists the main thread last
        frames = [(found[1], found[2], found[3]) for found in _matches(FAULT_FRAME, lines[threads[-1] + 1 :])]
        return _render(frames)
    frames = [(found[1], found[2], found[3]) for line in reversed(lines) if (found := NOTED_FRAME.fullmatch(line))]
    return _render(frames)


def _matches(pattern: re.Pattern[str], lines: Sequence[str]) -> list[re.Match[str]]:
    """Return the matches of the first lines, up to the first line without one."""
    found = []
    for line in lines:
        match = pattern.fullmatch(line)
        if match is None:
            break
        found.append(match)
    return found


def _render(frames: Sequence[tuple[str, str, str]]) -> str:
    lines = [f'  File "{name}", line {number}, in {function}\n' for name, number, function in reversed(frames)]
    return "".join(line for line in lines if HOOK not in line)[-MAX_CHARACTERS:]
