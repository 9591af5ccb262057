"""The part of the gate inside pytest: it selects the tests of a ring, and records how each test goes.

Every process of pytest writes the stacks of its threads to its file when it gets SIGUSR1; the gate sends that signal to
a stage that reaches its time limit.
"""

import faulthandler
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.gate.rings import RINGS, has_no_test_of, of_ring


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--ring", choices=RINGS, default="all", help="run the tests of this ring (default: all)")
    parser.addoption("--record", metavar="FOLDER", help="write how each test goes into this folder (--record=FOLDER)")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    ignored = collection_path.is_file() and has_no_test_of(config.getoption("--ring"), collection_path)
    return ignored or None  # None: other plugins decide


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    selected = of_ring(config.getoption("--ring"), items)
    chosen = set(selected)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = selected


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "ring(name, others=name): the smallest ring with the test (quick, gate or all), and with its other parameters",
    )
    if folder := config.getoption("--record"):
        is_worker = hasattr(config, "workerinput")
        processes = Path(folder) / "processes"
        processes.mkdir(parents=True, exist_ok=True)
        # a file of its own: in one file the stacks of two processes would mix
        stacks = os.open(processes / str(os.getpid()), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        faulthandler.register(signal.SIGUSR1, file=stacks, all_threads=True)
        if not is_worker:
            config.pluginmanager.register(Recorder(Path(folder) / "tests.jsonl"))


class Recorder:
    """Writes a line for each beginning and each end of a test, in the process that the gate started."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._write({"began": _test(nodeid)})

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        test = _test(report.nodeid)
        if report.failed:
            self._write({"failed": test, "output": _output(report)})
        elif report.passed and report.when == "call":
            self._write({"passed": test})
        if report.when not in ("setup", "call", "teardown"):  # its process ended
            self._write({"ended": test})

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write({"failed": report.nodeid, "output": _output(report)})

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._write({"ended": _test(nodeid)})

    def _write(self, fields: dict[str, Any]) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps(fields) + "\n")


def _test(nodeid: str) -> str:
    """Return a test's id without the group that pytest-xdist appends (`--dist loadgroup`)."""
    return nodeid.rpartition("@")[0] if nodeid.rfind("@") > nodeid.rfind("]") else nodeid


def _output(report: pytest.TestReport | pytest.CollectReport) -> str:
    return "\n".join([report.longreprtext, *(f"--- {title} ---\n{text}" for title, text in report.sections)])
