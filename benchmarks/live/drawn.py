"""Pages in Chromium, and the moments at which their charts had drawn a step."""

import threading

from playwright.sync_api import Page, sync_playwright

from bigbatch.client import Client
from tests.testing.dashboard import CHROMIUM_FLAGS, find_chromium

# the last step of the chart is on its slider; it is drawn when the frame after the one that has it begins
RECORDER = """
() => {
  const drawn = [];
  window.__drawn = drawn;
  let last = 0;
  const look = () => {
    const step = Number(document.querySelector("[role=slider]")?.ariaValueMax ?? 0);
    if (step > last) {
      last = step;
      requestAnimationFrame(() => drawn.push([step, Date.now() / 1000]));
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}
"""
PATIENCE_MS = 60_000


class DrawnSteps(threading.Thread):
    """One tab for each path, until `end`; then `seen` has for each path which step was drawn at which moment."""

    def __init__(self, url: str, token: str, paths: list[str]) -> None:
        super().__init__()
        self.seen: dict[str, list[tuple[int, int, float]]] = {}
        self.is_open, self.end = threading.Event(), threading.Event()
        self._url, self._token, self._paths = url, token, paths

    def run(self) -> None:
        """Open the tabs, wait and collect."""
        path = find_chromium()
        if path is None:
            raise SystemExit("this benchmark needs Chromium")
        with sync_playwright() as started:
            browser = started.chromium.launch(executable_path=path, args=CHROMIUM_FLAGS)
            with browser.new_context(viewport={"width": 1440, "height": 900}) as context:
                with Client(self._url, self._token) as client:
                    context.new_page().goto(client.sign_in_url("/"))
                pages = {path: context.new_page() for path in self._paths}
                for path, page in pages.items():
                    page.goto(self._url + path)
                    page.wait_for_selector("h1", timeout=PATIENCE_MS)
                    page.evaluate(RECORDER)
                self.is_open.set()
                while not self.end.is_set():
                    next(iter(pages.values())).wait_for_timeout(200)
                self.seen = {path: _drawn(page) for path, page in pages.items()}
            browser.close()


def _drawn(page: Page) -> list[tuple[int, int, float]]:
    return [(0, int(step), float(moment)) for step, moment in page.evaluate("window.__drawn")]
