"""Rings of tests: `quick` is part of `gate`, and `gate` is part of `all`; a mark says in which ring a test begins.

`pytestmark = pytest.mark.ring("quick")` marks a file, `@pytest.mark.ring("all")` a test or a class; the mark that is
closest to the test counts. A mark that names a server (`slurm`, `postgres`...) or `long` means `all` where no ring
stands beside it. `ring("gate", others="all")` gives the first set of parameters to the gate and the others to `all`.
Without a mark, a test belongs to `gate`.
"""

from pathlib import Path

import pytest

RINGS = ("quick", "gate", "all")
NEEDS = ("postgres", "redis", "slurm", "flow", "browser", "long")


def of_ring(ring: str, items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the tests of a ring, in order; raise ValueError where a mark names no ring."""
    seen = set[str]()
    found = []
    for item in items:
        function = item.nodeid.partition("[")[0]
        if RINGS.index(_ring_of(item, is_first=function not in seen)) <= RINGS.index(ring):
            found.append(item)
        seen.add(function)
    return found


def _ring_of(item: pytest.Item, *, is_first: bool) -> str:
    for node in reversed(item.listchain()):
        if marks := [mark for mark in node.own_markers if mark.name == "ring"]:
            mark = marks[-1]  # those of parameters come after those of the function
            ring = str(mark.args[0] if is_first else mark.kwargs.get("others", mark.args[0]))
            if ring not in RINGS:
                raise ValueError(f"{item.nodeid}: no ring is called {ring!r}; choose one of {', '.join(RINGS)}")
            return ring
        if any(mark.name in NEEDS for mark in node.own_markers):
            return "all"
    return "gate"


def has_no_test_of(ring: str, path: Path) -> bool:
    """Return whether a file surely has no test of the ring: a run of `quick` imports only the files that name it."""
    is_test = path.suffix == ".py" and path.name.startswith("test_")
    return ring == "quick" and is_test and 'ring("quick")' not in path.read_text(encoding="utf-8")
