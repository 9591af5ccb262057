"""The stages of each ring, in order, with their time limits."""

import os
import sys
from pathlib import Path

from tests.gate.gate import Step
from tests.gate.stages import PytestStage, Stage, VitestStage

PYTHON = Path(".venv") / "bin" / "python"


def steps(ring: str) -> list[Step]:
    """Return what `make test` (gate) or `make test-all` (all) carries out."""
    packages = Stage("packages", (sys.executable, "tests/testing/packages.py"), 600)
    installation = [
        [packages],
        [_make("packages of Python", 900, ".make/dev")],
        [_make("packages of npm", 450, ".make/web")],
    ]
    built = [[_make("dashboard", 300, "web/dist/index.html")]]  # one of the tests opens it in Chromium
    tests = _tests(ring)
    python = [_make("checks of Python", 600, "check-python"), tests[0]]
    web = [
        _make("checks of the dashboard", 600, "check-web"),
        VitestStage("tests of the dashboard", ("npx", "vitest", "run"), 900, folder="web"),
    ]
    # side by side: most of the checks use one core
    return [installation, built, [python, web], *([[stage]] for stage in tests[1:])]


def _make(name: str, limit_s: float, target: str) -> Stage:
    return Stage(name, ("make", "--silent", target), limit_s)


def _tests(ring: str) -> list[Stage]:
    pytest = (str(PYTHON), "-m", "pytest", "-q", f"--ring={ring}")
    if ring == "gate":
        # two processes, because the checks of the dashboard run beside them; six times what it takes on two idle cores
        return [PytestStage("tests", (*pytest, "--timeout=400"), 2100, side_by_side=_side_by_side("2"))]
    # three processes on two cores: these tests wait for files, ports and clocks as well
    return [
        PytestStage("tests", pytest, 6000, side_by_side=(*_side_by_side("3"), "-m", "not long")),
        PytestStage("long tests", pytest, 6000, side_by_side=(*_side_by_side("3"), "-m", "long")),
    ]


def _side_by_side(processes: str) -> tuple[str, ...]:
    """Return the options for all tests; what shares the lab, the browser or a file stays in one process."""
    return ("-n", os.environ.get("WORKERS", processes), "--dist", "loadgroup", "--no-loadscope-reorder")
