"""Take the pictures of the dashboard in docs/images, from a seeded service: python -m tests.browser.pictures"""

import tempfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, ViewportSize, expect, sync_playwright

from bigbatch.client import Client
from store.session import engine_for
from tests.testing.dashboard import CHROMIUM_FLAGS, ROOT, find_chromium, serving_api
from tests.testing.databases import migrate_template
from tests.testing.seed_dashboard import seed

IMAGES = ROOT / "docs" / "images"
Theme = Literal["light", "dark"]
SIZE: ViewportSize = {"width": 1440, "height": 900}
THEMES: tuple[Theme, ...] = ("light", "dark")


def main() -> None:
    """Write a picture of each page in each theme."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        home = Path(folder)
        engine = engine_for(migrate_template(f"sqlite:///{home / 'bigbatch.db'}"))
        ids = seed(engine, home / "runs")
        browser = started.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_FLAGS)
        with serving_api(home) as url, Client(url, (home / "token").read_text()) as client:
            for theme in THEMES:
                take_pictures(browser, client, ids, theme)
        browser.close()


def take_pictures(browser: Browser, client: Client, ids: Mapping[str, int], theme: Theme) -> None:
    """Write the pictures of one theme."""
    pages = {
        "experiments": "/",
        "experiment": f"/experiments/{ids['grid']}",
        "run": f"/runs/{ids['growing']}",
        "runs": "/runs",
        "compare": "/compare?runs=5,6,7,8,9,10",
        "new": "/new?recipe=optimizers",
    }
    with browser.new_context(viewport=SIZE, color_scheme=theme) as context:
        page = context.new_page()
        page.goto(client.sign_in_url())
        page.wait_for_url(f"{client.url}/")
        for name, path in pages.items():
            page.goto(client.url + path)
            expect(page.locator("h1")).to_be_visible(timeout=60_000)
            page.wait_for_load_state("networkidle")
            write_small(page.screenshot(), IMAGES / f"{name}-{theme}.png")


def write_small(png: bytes, path: Path) -> None:
    """Write a picture with 256 colors, in half the bytes."""
    Image.open(BytesIO(png)).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main()
