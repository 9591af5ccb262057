"""The list of unstable tests: those that failed beside others and passed alone.

The list is part of the repository, so that the next person sees it. An entry goes when its test is mended, moved out of
the gate or deleted.
"""

import time
from pathlib import Path

from tests.gate.stages import Failure

LIST = Path("tests") / "unstable.md"
HEAD = """# Unstable tests

Each failed once in `make test` and then passed alone. Mend the test, give it `ring("all")` or delete it, and
delete its entry.
"""
LINES = 60  # of a failure's output, its end


def listed(failures: list[Failure]) -> str:
    """Return the tests with the output of their first run."""
    return "\n".join(["unstable (failed, then passed alone):", *(_entry(failure) for failure in failures)])


def record(folder: Path, failures: list[Failure]) -> None:
    """Add tests to the list of a checkout."""
    path = folder / LIST
    text = path.read_text() if path.exists() else HEAD
    entries = "".join(f"\n{_entry(failure)}\n" for failure in failures)
    path.write_text(text + entries.replace(f"{folder.resolve()}/", ""))


def count(folder: Path) -> int:
    """Return how many entries the list has."""
    path = folder / LIST
    return path.read_text().count("\n## ") if path.exists() else 0


def _entry(failure: Failure) -> str:
    output = "\n".join(f"    {line}".rstrip() for line in failure.output.splitlines()[-LINES:])
    return f"## {failure.test}, {time.strftime('%Y-%m-%d', time.gmtime())}\n\n{output}"
