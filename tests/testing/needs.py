"""What a test needs of the machine: skipped with its reason where that is missing, failed when CI is set."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

SBIN = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


def require(missing: Sequence[str]) -> None:
    """Skip the test, or fail it on CI, when anything is missing."""
    if missing:
        reason = "; ".join(missing)
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)


def program(name: str, *folders: str) -> Path:
    """The path of a program that the test drives, looked for in `folders` too."""
    found = shutil.which(name, path=os.pathsep.join([*folders, SBIN]))
    require([] if found else [f"needs the program {name}"])
    return Path(str(found))
