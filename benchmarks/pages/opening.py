"""What the parts of the benchmark share: the service and its browser, and the opening of a page several times."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from playwright.sync_api import Browser, Page, StorageState
from sqlalchemy import Engine

from benchmarks.pages.browser import Opened, Tab, open_tab
from benchmarks.pages.seeding import Seeded

REPEATS = int(os.environ.get("PAGES_REPEATS", "7"))
Row = dict[str, Any]
Wait = Callable[[Page], float]


@dataclass(frozen=True)
class Stage:
    """A service with seeded rows, and a browser that is signed in."""

    browser: Browser
    state: StorageState
    url: str
    engine: Engine
    seeded: Seeded


def load() -> float:
    """Return how many processes wanted a processor in the last minute."""
    return round(os.getloadavg()[0], 1)


def opened(stage: Stage, path: str, wait: Wait) -> Row:
    """Return what opening a page takes with an empty cache and with a filled one."""
    first: list[Opened] = []
    again: list[Opened] = []
    for _ in range(REPEATS):
        with open_tab(stage.browser, stage.state) as tab:
            first.append(tab.open(f"{stage.url}{path}", wait))
            again.append(tab.open(f"{stage.url}{path}", wait))
    return {"first": _summary(first), "again": _summary(again), "load": load()}


def moving(tab: Tab, places: Sequence[tuple[float, float]]) -> Row:
    """Return the frames while the pointer moves over places."""
    with tab.frames() as frames:
        for x, y in places:
            tab.page.mouse.move(x, y)
        return frames()._asdict() | {"load": load()}


def _summary(found: Sequence[Opened]) -> Row:
    """Return the median of each figure, and the least time: on a busy machine it is nearest to an idle one's."""
    medians = {name: median(getattr(one, name) for one in found) for name in Opened._fields}
    return medians | {"least_shown_ms": min(one.shown_ms for one in found)}
