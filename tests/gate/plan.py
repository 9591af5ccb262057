"""The stages of each ring, in order, with their time limits."""

import os
import sys
from pathlib import Path

from tests.gate.gate import Step
from tests.gate.stages import PytestStage, Stage, VitestStage

# three processes on two cores: tests wait for files, ports and clocks as well. What shares the lab, the browser or a
# file of tests on real servers stays in one process (tests/conftest.py)
WORKERS = os.environ.get("WORKERS", "3")
PYTHON = Path(".venv") / "bin" / "python"
SIDE_BY_SIDE = ("-n", WORKERS, "--dist", "loadgroup", "--no-loadscope-reorder")


def steps(ring: str) -> list[Step]:
    """Return what `make test` (gate) or `make test-all` (all) carries out."""
    packages = Stage("packages", (sys.executable, "tests/testing/packages.py"), 900)
    installation = [
        [packages],
        [_make("packages of Python", 1500, ".make/dev")],
        [_make("packages of npm", 900, ".make/web")],
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
        return [PytestStage("tests", (*pytest, "--timeout=180"), 1200, side_by_side=SIDE_BY_SIDE)]
    return [
        PytestStage("tests", pytest, 6000, side_by_side=(*SIDE_BY_SIDE, "-m", "not long")),
        PytestStage("long tests", pytest, 6000, side_by_side=(*SIDE_BY_SIDE, "-m", "long")),
    ]
