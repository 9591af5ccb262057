"""RunFolder: the files of one run that the agent reads and writes; contract/folder/run_folder.py has the formats."""

from __future__ import annotations

import json
from typing import Any

from runfiles import names
from runfiles.job_folder import JobFolder


class RunFolder(JobFolder):
    """The folder of one run of a program."""

    def read_spec(self) -> dict[str, Any]:
        """Return the spec; raise OSError or ValueError."""
        spec = json.loads((self.path / names.SPEC).read_text(encoding="utf-8"))
        if not isinstance(spec, dict) or spec.get("kind") != "program":
            raise ValueError("the spec is not one of a program")
        return spec

    def has_spec(self) -> bool:
        """Return whether the scheduler's files are visible."""
        return self.attempts.exists() and (self.path / names.SPEC).exists()
