"""What a page does in Chromium, measured in the page itself: when it drew, its frames, its bytes, its memory."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

from playwright.sync_api import Browser, CDPSession, Page, StorageState

# the moments of the lines and pictures on canvases, in milliseconds since the navigation; frames while `measure` is on
RECORDER = """
(() => {
  const record = { stroke: 0, drawImage: 0, last: 0, frames: [], isOn: false };
  window.__record = record;
  for (const name of ["stroke", "drawImage"]) {
    const draw = CanvasRenderingContext2D.prototype[name];
    CanvasRenderingContext2D.prototype[name] = function (...path) {
      draw.apply(this, path);
      record[name] += 1;
      record.last = performance.now();
    };
  }
  const frame = (at) => {
    if (record.isOn) record.frames.push(at);
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})();
"""
QUIET_MS = 700  # without a stroke or an answer: the page is complete
PATIENCE_MS = 120_000


class Opened(NamedTuple):
    """What opening a page took."""

    shown_ms: float  # from the navigation to what the page is for
    complete_ms: float  # to the last answer
    kilobytes: float  # that came over the network
    requests: int


class Frames(NamedTuple):
    """The frames during a movement."""

    per_s: float
    worst_ms: float  # the longest time between two frames
    p95_ms: float


class Tab:
    """A tab with a recorder."""

    def __init__(self, page: Page, devtools: CDPSession) -> None:
        self.page, self._devtools = page, devtools
        self._bytes, self._requests = 0, 0
        devtools.on("Network.loadingFinished", self._count)
        devtools.send("Network.enable")

    def open(self, address: str, wait: Callable[[Page], float]) -> Opened:
        """Open an address; `wait` returns the moment at which it is drawn."""
        self._bytes, self._requests = 0, 0
        self.page.goto(address, wait_until="commit")
        shown = wait(self.page)
        self.page.wait_for_load_state("networkidle", timeout=PATIENCE_MS) if "live" not in address else None
        self.page.wait_for_timeout(QUIET_MS)
        complete = self.page.evaluate(
            "Math.max(0, ...performance.getEntriesByType('resource').map((one) => one.responseEnd))"
        )
        return Opened(round(shown), round(complete), round(self._bytes / 1000, 1), self._requests)

    def memory(self) -> dict[str, float]:
        """Return the used heap after a collection in MB, and the number of DOM nodes."""
        self._devtools.send("HeapProfiler.collectGarbage")
        self._devtools.send("Performance.enable")
        found = {one["name"]: one["value"] for one in self._devtools.send("Performance.getMetrics")["metrics"]}
        return {"heap_mb": round(found["JSHeapUsedSize"] / 1e6, 2), "nodes": found["Nodes"]}

    @contextmanager
    def frames(self) -> Iterator[Callable[[], Frames]]:
        """Record the frames of the block; the yielded function returns them afterwards."""
        self.page.evaluate("Object.assign(window.__record, { frames: [], isOn: true })")
        yield self._frames
        self.page.evaluate("window.__record.isOn = false")

    def _frames(self) -> Frames:
        at = self.page.evaluate("window.__record.frames")
        gaps = sorted(later - earlier for earlier, later in pairwise(at))
        seconds = (at[-1] - at[0]) / 1000
        return Frames(round(len(gaps) / seconds, 1), round(gaps[-1], 1), round(gaps[int(len(gaps) * 0.95)], 1))

    def _count(self, event: dict[str, Any]) -> None:
        self._bytes += event.get("encodedDataLength", 0)
        self._requests += 1


@contextmanager
def open_tab(browser: Browser, state: StorageState) -> Iterator[Tab]:
    """Open a tab in a context of its own, so with an empty cache."""
    with browser.new_context(viewport={"width": 1440, "height": 900}, storage_state=state) as context:
        context.add_init_script(RECORDER)
        page = context.new_page()
        yield Tab(page, context.new_cdp_session(page))


def drawn(least: int, *, name: str = "stroke") -> Callable[[Page], float]:
    """Return a wait for so many strokes, or calls of `drawImage`; its moment is that of the last one before a pause."""

    def wait(page: Page) -> float:
        script = "([name, least, quiet]) => { const r = window.__record; "
        script += "return r && r[name] >= least && performance.now() - r.last > quiet ? r.last : null; }"
        return _moment(page, script, [name, least, QUIET_MS])

    return wait


def shown(selector: str, count: int = 1) -> Callable[[Page], float]:
    """Return a wait for elements; its moment is the frame in which they are there."""

    def wait(page: Page) -> float:
        script = "([selector, count]) => document.querySelectorAll(selector).length >= count ? performance.now() : null"
        return _moment(page, script, [selector, count])

    return wait


def _moment(page: Page, script: str, argument: list[Any]) -> float:
    found = page.wait_for_function(script, arg=argument, polling="raf", timeout=PATIENCE_MS).json_value()
    return float(found)
