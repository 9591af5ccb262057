"""The documentation: links and paths lead to files, pages have at most 300 lines, and the glossary is sorted."""

import json
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.ring("quick")

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "lab").rglob("*.md")]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
PATH = re.compile(
    r"(?<![\w/.-])((?:agent|api|benchmarks|bigbatch|contract|docs|lab|migrations|orders|runfiles|scheduler|store|study"
    r"|tests|trainers)/[\w/-]+\.(?:py|md))(?!\w)"
)
ROOMS = ("agent", "scheduler", "store", "contract", "trainers", "api", "runfiles")
SOURCES = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
MAX_LINES = 300
NO_GPU = re.compile(
    r"no\s+GPU\s+(?:was\s+available|has\s+run)|not\s+run\s+on\s+a\s+GPU|on\s+GPUs\s+vectors\s+travel", re.IGNORECASE
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_relative_link_leads_to_a_file(page: Path) -> None:
    targets = [target for target in LINK.findall(page.read_text()) if "://" not in target]
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_page_is_too_long(page: Path) -> None:
    assert len(page.read_text().splitlines()) <= MAX_LINES


def test_the_glossary_is_in_alphabetical_order() -> None:
    lines = (ROOT / "docs" / "glossary.md").read_text().splitlines()
    terms = [line.split("|")[1].strip().lower() for line in lines if line.startswith("| ")][1:]
    assert terms == sorted(terms)


@pytest.mark.parametrize("page", [*PAGES, *SOURCES], ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_path_of_the_project_that_a_text_names_exists(page: Path) -> None:
    if page.name in ("CHANGELOG.md",) or "decisions" in page.parts or "log" in page.parts:
        return  # they speak of earlier versions
    named = [path for path in PATH.findall(page.read_text()) if "NAME" not in path]
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_page_says_that_no_gpu_has_run_what_a_report_of_a_gpu_has(page: Path) -> None:
    if page.name == "CHANGELOG.md" or page.name.startswith("changes-") or page.name in ("engine.md", "pages.md"):
        return  # they tell what was true on their day
    report = json.loads((ROOT / "benchmarks" / "results" / "gpu.json").read_text())
    assert not report["rehearsal"]
    assert NO_GPU.findall(page.read_text()) == []
