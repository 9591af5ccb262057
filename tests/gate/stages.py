"""Stages of the gate: a command, its time limit and, where it runs tests, which of them failed."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Failure:
    """A test that failed, with what it printed."""

    test: str
    output: str


@dataclass(frozen=True)
class Stage:
    """A command without tests; it fails by its exit status."""

    name: str
    command: tuple[str, ...]
    limit_s: float
    folder: str = "."

    def words(self, records: Path) -> list[str]:
        """Return the command, which records its tests in a folder."""
        return [*self.command]

    def failures(self, records: Path) -> list[Failure]:
        """Return the tests that failed, by what the command recorded."""
        return []

    def in_progress(self, records: Path) -> list[str]:
        """Return the tests that have begun and not ended."""
        return []

    def explains(self, status: int, printed: str) -> bool:
        """Return whether failed tests alone can be the reason of an exit status."""
        return False

    def again(self, test: str, records: Path) -> list[str]:
        """Return the command that runs one test alone."""
        raise NotImplementedError(f"the stage {self.name} has no tests")

    def has_passed(self, test: str, records: Path) -> bool:
        """Return whether a test was carried out and passed, by what the command recorded."""
        return False


@dataclass(frozen=True)
class PytestStage(Stage):
    """Tests of Python: `command` is pytest; `side_by_side` has the options for all tests that one test alone lacks."""

    side_by_side: tuple[str, ...] = ()

    def words(self, records: Path) -> list[str]:
        return [*self.command, *self.side_by_side, f"--record={records}"]

    def failures(self, records: Path) -> list[Failure]:
        return [Failure(line["failed"], line["output"]) for line in _lines(records) if "failed" in line]

    def in_progress(self, records: Path) -> list[str]:
        lines = list(_lines(records))
        ended = {line["ended"] for line in lines if "ended" in line}
        return list(dict.fromkeys(line["began"] for line in lines if "began" in line and line["began"] not in ended))

    def explains(self, status: int, printed: str) -> bool:
        return status == 1  # others: interrupted, an error within pytest, wrong usage, no tests, a signal

    def again(self, test: str, records: Path) -> list[str]:
        return [*self.command, f"--record={records}", test]

    def has_passed(self, test: str, records: Path) -> bool:
        passed = {line["passed"] for line in _lines(records) if "passed" in line}
        return test in passed or any(name.startswith(f"{test}::") for name in passed)  # a file that failed as a whole


@dataclass(frozen=True)
class VitestStage(Stage):
    """Tests of the dashboard: `command` is vitest; a failed test runs again with its file."""

    def words(self, records: Path) -> list[str]:
        return [*self.command, "--reporter=default", "--reporter=json", f"--outputFile={_report(records)}"]

    def failures(self, records: Path) -> list[Failure]:
        found = []
        for file in _files(records):
            failed = [test for test in file["assertionResults"] if test["status"] == "failed"]
            found += [Failure(_vitest_name(file, test), "\n".join(test["failureMessages"])) for test in failed]
            if file["status"] == "failed" and not failed:  # its imports failed, or a hook
                found.append(Failure(file["name"], file["message"]))
        return found

    def explains(self, status: int, printed: str) -> bool:
        return status == 1 and "Unhandled Error" not in printed  # an error outside of tests is not in the report

    def again(self, test: str, records: Path) -> list[str]:
        return [*self.words(records), test.partition(" > ")[0]]

    def has_passed(self, test: str, records: Path) -> bool:
        files = _files(records)
        passed = {
            _vitest_name(file, it) for file in files for it in file["assertionResults"] if it["status"] == "passed"
        }
        return test in passed | {file["name"] for file in files if file["status"] == "passed"}


def _vitest_name(file: dict[str, Any], test: dict[str, Any]) -> str:
    return f"{file['name']} > {test['fullName']}"


def _report(records: Path) -> Path:
    return records / "vitest.json"


def _files(records: Path) -> list[dict[str, Any]]:
    """Return the report's entry of each file; nothing where vitest was ended before it wrote a report."""
    try:
        return list(json.loads(_report(records).read_text())["testResults"])
    except (OSError, ValueError):
        return []


def _lines(records: Path) -> Iterator[dict[str, str]]:
    """Yield what pytest recorded; a line that is cut off by the end of pytest is left out."""
    path = records / "tests.jsonl"
    for line in path.read_text().splitlines(keepends=True) if path.exists() else []:
        if line.endswith("\n"):
            yield json.loads(line)
