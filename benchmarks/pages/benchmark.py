"""The dashboard's pages in a real Chromium, over a seeded service: `make bench NAME=pages`.

PAGES_PARTS names the parts to measure ("curves table compare large workflow live tasks"; without it all): one part
takes a few minutes, and its figures replace those of the same part in the report. PAGES_HOME names a folder for the
seeded service, which a later call uses again. PAGES_TABS (20) live tabs are open for PAGES_MINUTES (10), and each page
is opened PAGES_REPEATS (7) times. The load of the machine is beside each figure: a browser on a busy machine is several
times slower.
"""

import json
import multiprocessing
import os
import platform
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from playwright.sync_api import Browser, StorageState, sync_playwright
from sqlalchemy import Engine

from benchmarks.pages.browser import open_tab, shown
from benchmarks.pages.live_tabs import live
from benchmarks.pages.long_curves import curves
from benchmarks.pages.many_runs import compare, large, table
from benchmarks.pages.opening import Row, Stage, load, opened
from benchmarks.pages.seeding import Seeded
from benchmarks.pages.tasks import tasks
from bigbatch.client import Client
from migrations.commands import upgrade
from store.session import engine_for
from tests.testing.dashboard import CHROMIUM_FLAGS, find_chromium, serving_api

STEPS = 100
NODES = shown("[aria-label='Graph of the steps'] button", STEPS)


def workflow(stage: Stage) -> Row:
    """Return the times of the page, and the frames of scrolling its graph."""
    path = f"/experiments/{stage.seeded.ids('workflow')}"
    row: Row = {"opens": opened(stage, path, NODES)}
    with open_tab(stage.browser, stage.state) as tab:
        tab.open(f"{stage.url}{path}", NODES)
        tab.page.get_by_role("region", name="Graph of the steps").hover()
        with tab.frames() as frames:
            for _ in range(60):
                tab.page.mouse.wheel(40, 40)
                tab.page.wait_for_timeout(16)
            row["frames while scrolling"] = frames()._asdict() | {"load": load()}
    return row


RESULT = Path(__file__).parents[1] / "results" / "pages.json"
PARTS: dict[str, Callable[[Stage], Row]] = {
    "curves": curves,
    "table": table,
    "compare": compare,
    "large": large,
    "workflow": workflow,
    "live": live,
    "tasks": tasks,
}


def main() -> None:
    """Measure the parts, print the result and write the report."""
    parts = os.environ.get("PAGES_PARTS", "").split() or list(PARTS)
    with ExitStack() as stack:
        home = _home(stack)
        engine = _database(home)
        seeded = Seeded(engine, home / "seeded.json")
        for part in parts:
            seeded.prepare(part)
        url = stack.enter_context(serving_api(home))
        browser = stack.enter_context(_chromium())
        state = _signed_in(browser, url, (home / "token").read_text())
        stage = Stage(browser, state, url, engine, seeded)
        for part in parts:
            _report(part, PARTS[part](stage))


def _report(part: str, found: Row) -> None:
    """Put the figures of a part into the report."""
    known = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    known |= {"machine": _machine(), part: found}
    RESULT.write_text(json.dumps(known, indent=1) + "\n")
    print(json.dumps({part: found}, indent=1), flush=True)


def _home(stack: ExitStack) -> Path:
    if named := os.environ.get("PAGES_HOME"):
        home = Path(named)
        home.mkdir(parents=True, exist_ok=True)
        return home
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bigbatch-pages-")))


def _database(home: Path) -> Engine:
    url = f"sqlite:///{home / 'bigbatch.db'}"
    upgrade(url)
    return engine_for(url)


@contextmanager
def _chromium() -> Iterator[Browser]:
    path = find_chromium()
    if path is None:
        raise SystemExit("this benchmark needs Chromium")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


def _signed_in(browser: Browser, url: str, token: str) -> StorageState:
    with browser.new_context() as context, Client(url, token) as client:
        page = context.new_page()
        page.goto(client.sign_in_url("/"))
        page.wait_for_url(f"{url}/")
        return context.storage_state()


def _machine() -> Row:
    machine = {"machine": platform.machine(), "system": platform.system(), "cores": multiprocessing.cpu_count()}
    return machine | {"python": platform.python_version(), "database": "SQLite"}
