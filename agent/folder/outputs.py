"""The record of a program's outputs, outputs.json, in the format of contract/folder/outputs/record.py."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from agent.folder.content import ContentError, describe_content
from agent.folder.run_folder import RunFolder
from runfiles import names
from runfiles.job_folder import replace_file
from runfiles.retries import try_for

VISIBLE_S, POLL_S = 10.0, 0.2  # longest time for which a shared file system may hide what another host has written


def record_outputs(folder: RunFolder, attempt: int, spec: Mapping[str, Any], *, hosts: int) -> bool:
    """Hash the outputs that the spec names, and record them; return whether there is a record.

    The heartbeat goes on meanwhile, from its thread.
    """
    artifacts: list[dict[str, Any]] = []
    faults: list[dict[str, Any]] = []
    until = time.monotonic() + (VISIBLE_S if hosts > 1 else 0.0)
    for name, path in (spec.get("outputs") or {}).items():
        try:
            artifacts.append({"name": name, "path": path, **_await_content(folder, path, until)})
        except ContentError as error:
            faults.append({"name": name, "path": path, "problem": str(error)})
    if not (artifacts or faults):
        return False
    text = json.dumps({"attempt": attempt, "artifacts": artifacts, "faults": faults})
    return try_for(lambda: replace_file(folder.path / names.OUTPUTS, text), "the record of the outputs") is None


def _await_content(folder: RunFolder, path: str, until: float) -> dict[str, Any]:
    while True:
        try:
            return describe_content(folder.path, path)
        except ContentError:
            if time.monotonic() >= until:
                raise
        time.sleep(POLL_S)
