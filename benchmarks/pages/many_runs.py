"""Pages over 30,000 runs: the table, a comparison of 500 runs, and each page of an experiment of 10,000 runs."""

from statistics import median

from benchmarks.pages.browser import Tab, drawn, open_tab, shown
from benchmarks.pages.long_curves import places_of, zoom_by_drag
from benchmarks.pages.opening import REPEATS, Row, Stage, load, moving, opened
from benchmarks.pages.seeding import COMPARED

ROWS = shown("tbody th[scope=row]", 20)
QUERIES = (
    "state = failed and batch > 256",
    "batch > 256",
    "optimizer = lars or rate < 0.3",
    "best(heldout_accuracy) > 90% and owner = ada",
    "duration > 1h",
)
# the milliseconds from the key in the field to the frame in which the table has the rows of the query
ANSWERED = """
(() => {
  const table = document.querySelector("[role=region][aria-label=Runs] table");
  const status = () => [...document.querySelectorAll("[role=status]")].map((one) => one.innerText).join("|");
  const before = status();
  window.__answered = null;
  const field = document.querySelector("search input");
  field.addEventListener("keydown", (event) => { window.__asked = performance.now(); }, { once: true });
  const look = () => {
    const now = status();
    if (now !== before && !now.includes("Loading") && table.getAttribute("aria-busy") === "false")
      window.__answered = performance.now() - window.__asked;
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})()
"""


def table(stage: Stage) -> Row:
    """Return the times of the table and of its groups, of filters in the open page, and the frames of scrolling."""
    row: Row = {"opens": opened(stage, "/runs", ROWS)}
    row["opens with a filter"] = opened(stage, "/runs?where=state+%3D+failed+and+batch+%3E+256", ROWS)
    row["opens in groups"] = opened(stage, "/runs?group=batch,optimizer", ROWS)
    with open_tab(stage.browser, stage.state) as tab:
        row["filters, ms from the key to the rows"] = _filters(stage, tab)
        row["frames while scrolling"] = _scrolling(tab)
    return row


def _filters(stage: Stage, tab: Tab) -> Row:
    """Return the least and the median time of each filter: from Enter to the frame with its rows."""
    taken: dict[str, list[float]] = {query: [] for query in QUERIES}
    for _ in range(REPEATS):
        tab.open(f"{stage.url}/runs", ROWS)  # a page that has shown a query has its rows
        for query in QUERIES:
            taken[query].append(_filter(tab, query))
    found: Row = {query: {"median": median(ms), "least": min(ms)} for query, ms in taken.items()}
    return found | {"load": load()}


def _filter(tab: Tab, query: str) -> float:
    field = tab.page.get_by_role("combobox").first
    field.fill(query)
    field.press("Escape")
    tab.page.evaluate(ANSWERED)
    field.press("Enter")
    answered = tab.page.wait_for_function("() => window.__answered").json_value()
    return round(float(answered), 1)


def _scrolling(tab: Tab) -> Row:
    tab.page.get_by_role("region", name="Runs").hover()
    with tab.frames() as frames:
        for _ in range(100):
            tab.page.mouse.wheel(0, 400)
            tab.page.wait_for_timeout(16)
        return frames()._asdict() | {"load": load()}


def compare(stage: Stage) -> Row:
    """Return the times of a page that compares 500 runs with curves, and the frames of hovering and zooming."""
    path = f"/compare?where=experiment+%3D+{stage.seeded.ids('compared')}"
    wait = shown("main svg path", 2 * 20)  # a line and a band for each batch and rate, over the seeds
    row: Row = {"runs": COMPARED, "opens": opened(stage, path, wait)}
    with open_tab(stage.browser, stage.state) as tab:
        tab.open(f"{stage.url}{path}", wait)
        across = places_of(tab.page)
        row["frames while the pointer moves"] = moving(tab, across)
        row["frames while zooming"] = zoom_by_drag(tab, across)
    return row


def large(stage: Stage) -> Row:
    """Return the times and bytes of each page of an experiment of 10,000 runs."""
    experiment = stage.seeded.ids("large")
    pages = {
        "answer": (f"/experiments/{experiment}", shown("section[aria-label=Answer] p")),  # its sentence
        "table of runs": (f"/experiments/{experiment}", ROWS),
        "curves": (f"/experiments/{experiment}?tab=curves", drawn(100)),
        "a run": (f"/runs/{stage.seeded.ids('run')}", shown("[role=slider]")),
        "compare its newest 500": (f"/compare?where=experiment+%3D+{experiment}", shown("main svg path", 20)),
        "its runs in the table of all": (f"/runs?where=experiment+%3D+{experiment}", ROWS),
        "its runs in groups": (f"/runs?where=experiment+%3D+{experiment}&group=batch,rate", ROWS),
        "list of experiments": ("/", shown("main h1")),
    }
    return {name: opened(stage, path, wait) for name, (path, wait) in pages.items()}
