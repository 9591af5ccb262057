"""Rings of tests: `quick` is part of `gate`, and `gate` is part of `all`; a mark says in which ring a test begins.

`pytestmark = pytest.mark.ring("quick")` marks a file, `@pytest.mark.ring("all")` a test or a class; the mark that is
closest to the test counts. A mark that names a server (`slurm`, `postgres`...) or `long` means `all` where no ring
stands beside it. Without a mark, a test belongs to `gate`.
"""

from pathlib import Path

import pytest

RINGS = ("quick", "gate", "all")
NEEDS = ("postgres", "redis", "slurm", "flow", "browser", "long")


def ring_of(item: pytest.Item) -> str:
    """Return the smallest ring that contains a test; raise ValueError where its mark names no ring."""
    for node in reversed(item.listchain()):
        rings = [mark.args for mark in node.own_markers if mark.name == "ring"]
        if rings:
            (ring,) = rings[-1]  # those of parameters come after those of the function
            if ring not in RINGS:
                raise ValueError(f"{item.nodeid}: no ring is called {ring!r}; choose one of {', '.join(RINGS)}")
            return str(ring)
        if any(mark.name in NEEDS for mark in node.own_markers):
            return "all"
    return "gate"


def is_in(ring: str, item: pytest.Item) -> bool:
    """Return whether a ring contains a test."""
    return RINGS.index(ring_of(item)) <= RINGS.index(ring)


def has_no_test_of(ring: str, path: Path) -> bool:
    """Return whether a file surely has no test of the ring: a run of `quick` imports only the files that name it."""
    is_test = path.suffix == ".py" and path.name.startswith("test_")
    return ring == "quick" and is_test and 'ring("quick")' not in path.read_text(encoding="utf-8")
