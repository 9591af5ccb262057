"""The names of the files of a run's folder that a job writes; the docstring of contract.folder lists all files."""

from __future__ import annotations

import re
from collections.abc import Iterable

SPEC, EVENTS, LOG, OUTPUTS = "spec.json", "events.jsonl", "out.log", "outputs.json"
ATTEMPTS = "attempts"  # the folder of the files below
CLAIM, BEAT, AGAIN, RENDEZVOUS = "json", "beat", "again", "rendezvous"
REQUEST, EXIT = "stop", "end"  # of an attempt in a shared job
_CLAIM = re.compile(r"([0-9]{1,9})\.json")


def name_of(attempt: int, kind: str) -> str:
    """Return the name of a file of an attempt, in the folder ATTEMPTS."""
    return f"{attempt}.{kind}"


def latest_attempt(names: Iterable[str]) -> int:
    """Return the highest attempt that has a claim among the names in the folder ATTEMPTS; 0 without one."""
    return max((int(found[1]) for name in names if (found := _CLAIM.fullmatch(name))), default=0)
