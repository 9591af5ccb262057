"""What axe-core finds on a page in a real browser."""

from typing import Any

from playwright.sync_api import Page

from tests.testing.dashboard import ROOT

AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
SERIOUS = ("serious", "critical")
RULES: dict[str, Any] = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}
DARK: dict[str, Any] = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}


def serious(page: Page, rules: dict[str, Any] = RULES) -> list[str]:
    """Return the serious findings of axe with the elements that they concern."""
    # the policy of the pages allows no inline script, so the browser evaluates axe itself
    page.evaluate(AXE.read_text() + ";0")
    found: dict[str, Any] = page.evaluate("rules => axe.run(document, rules)", rules)
    return [
        f"{one['id']}: {one['help']}: {node['target']} {node['failureSummary']}"
        for one in found["violations"]
        if one["impact"] in SERIOUS
        for node in one["nodes"]
    ]


def in_dark(page: Page) -> list[str]:
    """Return the serious findings that the dark colors make."""
    page.emulate_media(color_scheme="dark")
    return serious(page, DARK)
