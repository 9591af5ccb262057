"""The record of a program's outputs, outputs.json, in the format of contract/folder/outputs/record.py."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from typing import Any

from agent.folder.content import ContentError, describe_content
from agent.folder.run_folder import RunFolder
from runfiles.job_folder import replace_file

FILE = "outputs.json"
VISIBLE_S, POLL_S = 10.0, 0.2  # longest time for which a shared file system may hide what another host has written
RETRY_S, RETRY_EVERY_S = 60.0, 1.0  # for a record that a full disk rejects


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
    return _write(folder, json.dumps({"attempt": attempt, "artifacts": artifacts, "faults": faults}))


def _await_content(folder: RunFolder, path: str, until: float) -> dict[str, Any]:
    while True:
        try:
            return describe_content(folder.path, path)
        except ContentError:
            if time.monotonic() >= until:
                raise
        time.sleep(POLL_S)


def _write(folder: RunFolder, text: str) -> bool:
    until = time.monotonic() + RETRY_S
    while True:
        try:
            replace_file(folder.path / FILE, text)
        except OSError as error:
            print(f"bigbatch: the record of the outputs could not be written: {error}", file=sys.stderr, flush=True)
            if time.monotonic() >= until:
                return False
        else:
            return True
        time.sleep(RETRY_EVERY_S)
