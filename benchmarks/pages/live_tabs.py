"""Tabs of runs that train: how their memory grows, and what they cost the API."""

import os
import time
from contextlib import ExitStack
from statistics import median

import psutil
from sqlalchemy import Engine

from benchmarks.pages.browser import open_tab, shown
from benchmarks.pages.opening import Row, Stage, load
from benchmarks.pages.seeding import grow

STEP_S, STEPS = 0.5, 5  # the live runs report ten points a second, in two transactions


def live(stage: Stage) -> Row:
    """Return the growth of memory of live tabs, and the processor's time of the API, over some minutes."""
    minutes, tabs = float(os.environ.get("PAGES_MINUTES", "10")), int(os.environ.get("PAGES_TABS", "20"))
    experiment = stage.seeded.ids("live")
    grow(stage.engine, experiment, STEPS)
    with ExitStack() as stack:
        opened = [stack.enter_context(open_tab(stage.browser, stage.state)) for _ in range(tabs)]
        for tab in opened:
            tab.open(f"{stage.url}/experiments/{experiment}?tab=curves&series=loss&live", shown("[role=slider]"))
        _grow_for(stage.engine, experiment, min(60.0, minutes * 12))  # until what a page retains is there
        before = [tab.memory() for tab in opened]
        api, began = _api(), time.monotonic()
        used = _seconds(api)
        loads = _grow_for(stage.engine, experiment, minutes * 60)
        share = (_seconds(api) - used) / (time.monotonic() - began)
        after = [tab.memory() for tab in opened]
    growth = [late["heap_mb"] - early["heap_mb"] for early, late in zip(before, after, strict=True)]
    nodes = [late["nodes"] - early["nodes"] for early, late in zip(before, after, strict=True)]
    return {
        "tabs": tabs,
        "minutes": minutes,
        "heap_before_mb": before[0]["heap_mb"],
        "growth_mb": {"median": round(median(growth), 2), "most": round(max(growth), 2)},
        "growth_of_nodes": max(nodes),
        "core_share_of_the_api": round(share, 3),
        "load": {"least": min(loads), "most": max(loads)},
    }


def _grow_for(engine: Engine, experiment_id: int, seconds: float) -> list[float]:
    """Let the runs report for so long; return the loads of the machine meanwhile."""
    until, loads = time.monotonic() + seconds, [load()]
    while time.monotonic() < until:
        grow(engine, experiment_id, STEPS)
        loads.append(load())
        time.sleep(STEP_S)
    return loads


def _api() -> psutil.Process:
    """Return the process of the API, a child of this one."""
    return next(one for one in psutil.Process().children() if "api" in one.cmdline())


def _seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
