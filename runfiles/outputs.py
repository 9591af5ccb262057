"""The record of a run's outputs, outputs.json, in the format of contract/folder/outputs/record.py."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import names
from .content import ContentError, describe_content
from .job_folder import replace_file
from .retries import try_for

VISIBLE_S, POLL_S = 10.0, 0.2  # longest time for which a shared file system may hide what another host has written


def record_outputs(
    folder: Path, attempt: int, outputs: Mapping[str, str], *, hosts: int, more: Sequence[Mapping[str, Any]] = ()
) -> bool:
    """Hash the outputs, paths by name, and record them after `more`; return whether there is a record.

    The heartbeat goes on meanwhile, from its thread. A record that a full disk rejects is tried again for a minute.
    """
    artifacts, faults = [dict(one) for one in more], list[dict[str, Any]]()
    until = time.monotonic() + (VISIBLE_S if hosts > 1 else 0.0)
    for name, path in outputs.items():
        try:
            artifacts.append({"name": name, "path": path, **_await_content(folder, path, until)})
        except ContentError as error:
            faults.append({"name": name, "path": path, "problem": str(error)})
    if not (artifacts or faults):
        return False
    text = json.dumps({"attempt": attempt, "artifacts": artifacts, "faults": faults})
    return try_for(lambda: replace_file(folder / names.OUTPUTS, text), "the record of the outputs") is None


def _await_content(folder: Path, path: str, until: float) -> dict[str, Any]:
    while True:
        try:
            return describe_content(folder, path)
        except ContentError:
            if time.monotonic() >= until:
                raise
        time.sleep(POLL_S)
