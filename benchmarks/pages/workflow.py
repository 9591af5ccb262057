"""The page of a workflow of 10,000 runs in 100 steps: from opening to the drawn graph."""

from benchmarks.pages.browser import open_tab, shown
from benchmarks.pages.opening import Row, Stage, load, opened

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
