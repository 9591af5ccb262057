"""Ten tasks of somebody who comes from Weights & Biases, carried out in the open pages over 30,000 runs.

For each task: how many actions the user takes (a click, a field that is filled in, a key, a drag), the seconds that the
pages need for them, and the actions that the documentation of W&B names for the same task, where those pages were
read (docs/from-wandb.md has the sources). W&B itself is not measured: that needs an account and its servers. Before
each task its page is open.
"""

import re
from collections.abc import Callable
from statistics import median
from time import perf_counter

from playwright.sync_api import Locator, Page

from benchmarks.pages.browser import Tab, open_tab, shown
from benchmarks.pages.long_curves import places_of
from benchmarks.pages.many_runs import ROWS
from benchmarks.pages.opening import REPEATS, Row, Stage, load

COMPARED = shown("main svg path", 3)
DRAG = 150  # pixels


class Hand:
    """What acts on a page: it counts the actions, and the time until what each of them shows is visible."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.actions, self.seconds = 0, 0.0

    def act(self, action: Callable[[], object], seen: Locator | None = None, *, gone: Locator | None = None) -> None:
        """Take an action, and wait until its result is visible, or until something is gone."""
        began = perf_counter()
        action()
        if seen is not None:
            seen.wait_for(state="visible")
        if gone is not None:
            gone.wait_for(state="detached")
        self.actions += 1
        self.seconds += perf_counter() - began

    def button(self, name: str | re.Pattern[str]) -> Locator:
        """Return a button of this name."""
        return self.page.get_by_role("button", name=name, exact=isinstance(name, str)).first


def find_failed(hand: Hand) -> None:
    """Show the failed runs with a batch above 256."""
    field = hand.page.get_by_role("combobox", name="Query")
    hand.act(lambda: field.fill("state = failed and batch > 256"))
    field.press("Escape")
    hand.act(lambda: field.press("Enter"), hand.page.get_by_text(re.compile(r"^[\d,]+ runs$")).first)


def sort(hand: Hand) -> None:
    """Sort all runs by their batch."""
    heading = hand.page.get_by_role("columnheader", name=re.compile("batch"))
    hand.act(heading.get_by_role("button").click, hand.page.locator("th[aria-sort=ascending]"))


def group(hand: Hand) -> None:
    """Show means and deviations over the runs of each optimizer."""
    page = hand.page
    fields = page.get_by_role("list", name="Further fields")
    hand.act(hand.button("Groups").click, fields)
    hand.act(fields.get_by_role("button", name="optimizer.kind", exact=True).click)
    hand.act(hand.button("Close").click, page.get_by_role("region", name="Groups of runs"))


def overlay(hand: Hand) -> None:
    """Draw the loss of three runs in one picture."""
    boxes = hand.page.get_by_role("checkbox", name=re.compile("^Select run"))
    for number in range(3):
        hand.act(boxes.nth(number).check)
    picture = hand.page.get_by_role("region", name=re.compile("^Training loss by"))
    hand.act(hand.page.get_by_role("link", name="Compare", exact=True).click, picture.get_by_role("slider"))


def log_axis(hand: Hand) -> None:
    """Draw the loss on a logarithmic axis."""
    switch = hand.page.get_by_role("switch", name="log y").first
    hand.act(switch.check, hand.page.locator("input[role=switch]:checked").first)


def zoom(hand: Hand) -> None:
    """Show a part of the steps."""
    places = places_of(hand.page)
    x, y = places[len(places) // 3]

    def drag() -> None:
        hand.page.mouse.move(x, y)
        hand.page.mouse.down()
        hand.page.mouse.move(x + DRAG, y, steps=5)
        hand.page.mouse.up()

    hand.act(drag, hand.button("Reset zoom"))


def differences(hand: Hand) -> None:
    """Read in which fields the compared runs differ: the page shows it."""
    hand.page.get_by_role("region", name="Differences", exact=True).get_by_role("table").first.wait_for()


def delete_and_restore(hand: Hand) -> None:
    """Delete two runs, and bring them back."""
    page = hand.page
    boxes = page.get_by_role("checkbox", name=re.compile("^Select run"))
    for number in range(2):
        hand.act(boxes.nth(number).check)
    hand.act(hand.button("Actions").click, page.get_by_role("menuitem", name="Delete…"))
    hand.act(page.get_by_role("menuitem", name="Delete…").click, page.get_by_role("dialog"))
    undo = hand.button(re.compile("^Undo"))
    hand.act(page.get_by_role("dialog").get_by_role("button", name="Delete 2 runs").click, undo)
    hand.act(undo.click, gone=undo)


def report(hand: Hand) -> None:
    """Put the picture into the newest report; without one into a new one."""
    page = hand.page
    picture = page.get_by_role("region", name=re.compile("^Training loss by"))
    item = page.get_by_role("menuitem", name="Add to a report…")
    hand.act(picture.get_by_role("button", name="Download").click, item)
    add = page.get_by_role("dialog").locator("button:enabled", has_text=re.compile("^Add$"))
    title = page.get_by_role("textbox", name="Title of the new report")
    hand.act(item.click, add.or_(title))
    if title.is_visible():
        hand.act(lambda: title.fill("Losses"))
    hand.act(add.click, page.get_by_role("link", name="Open the report"))


def save_view(hand: Hand) -> None:
    """Keep what the page shows under a name."""
    name = hand.page.get_by_role("textbox", name="Save what the page shows as")
    hand.act(hand.button("Views").click, name)
    hand.act(lambda: name.fill("sorted by batch"))
    saved = hand.page.get_by_role("link", name="sorted by batch").first
    hand.act(hand.button("Save the view").click, saved)


# what is done, on which page, and W&B's number of actions; None: its pages were not read
Task = tuple[Callable[[Hand], None], str, int | None]
TASKS: dict[str, Task] = {
    "find failed runs with a batch above 256": (find_failed, "table", 9),
    "sort all runs by a field": (sort, "table", None),
    "means over the runs of each optimizer": (group, "table", 2),
    "draw the loss of three runs": (overlay, "compared", None),
    "a logarithmic axis": (log_axis, "comparison", 4),
    "zoom into a part of the steps": (zoom, "comparison", None),
    "fields in which runs differ": (differences, "comparison", 3),
    "delete two runs, and bring them back": (delete_and_restore, "compared", 7),
    "put a picture into a report": (report, "comparison", 3),
    "keep what the page shows": (save_view, "table", 2),
}


def tasks(stage: Stage) -> Row:
    """Return for each task the actions, the median seconds of the pages, and W&B's number of actions."""
    found: Row = {}
    for name, (carry_out, place, of_wandb) in TASKS.items():
        hands = []
        for _ in range(REPEATS):
            with open_tab(stage.browser, stage.state) as tab:
                _open(tab, stage, place)
                hand = Hand(tab.page)
                carry_out(hand)
                hands.append(hand)
        seconds = round(median(hand.seconds for hand in hands), 3)
        found[name] = {"actions": hands[-1].actions, "seconds": seconds, "wandb_actions": of_wandb, "load": load()}
        print(name, found[name], flush=True)
    return found


def _open(tab: Tab, stage: Stage, place: str) -> None:
    experiment = stage.seeded.ids("compared")
    if place == "table":
        tab.open(f"{stage.url}/runs", ROWS)
    elif place == "compared":
        tab.open(f"{stage.url}/runs?where=experiment+%3D+{experiment}", ROWS)
    else:
        tab.open(f"{stage.url}/compare?where=experiment+%3D+{experiment}+and+seed+%3D+0+and+batch+%3C+256", COMPARED)
