"""Test the layout rules of the dashboard: CSS modules, query keys and sizes."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

pytestmark = pytest.mark.ring("quick")

WEB = Path(__file__).parents[1] / "web"
SOURCE = WEB / "src"
GENERATED = SOURCE / "shared" / "api" / "schema.d.ts"
KEYS = SOURCE / "shared" / "api" / "keys.ts"
THEME = {SOURCE / "shared" / "theme" / f"{name}.css" for name in ("tokens", "base", "font")}  # the only global styles
BASE = SOURCE / "shared" / "theme" / "base.css"
MOST_LINES = 300
CODE = {".py", ".ts", ".tsx"}

SCRIPTS = sorted(path for path in SOURCE.rglob("*.ts*") if path != GENERATED)
STYLES = sorted(SOURCE.rglob("*.css"))
MODULES = [path for path in STYLES if path.name.endswith(".module.css")]

IMPORT = re.compile(r'import (\w+) from "([^"]+\.module\.css)"')


def classes_of(css: str) -> set[str]:
    """Return the classes that a stylesheet defines, without the classes of other libraries."""
    text = re.sub(r"/\*.*?\*/|:global\([^)]*\)|url\([^)]*\)", "", css, flags=re.DOTALL)
    selectors = re.findall(r"([^{};]+)\{", text)
    return {name for selector in selectors for name in re.findall(r"\.([A-Za-z][\w-]*)", selector)}


def imported_modules(script: Path) -> Iterator[tuple[str, Path]]:
    """Yield the name and the path of each CSS module that a script imports."""
    for name, target in IMPORT.findall(script.read_text()):
        yield name, (SOURCE / target[2:] if target.startswith("@/") else script.parent / target).resolve()


def literal_classes(source: str) -> set[str]:
    """Return the classes that a script names by strings."""
    attributes = re.findall(r'className="([^"]*)"', source)
    arguments = [
        text for call in re.findall(r"classNames\(([^)]*)\)", source) for text in re.findall(r'"([^"]*)"', call)
    ]
    return {name for text in attributes + arguments for name in text.split()}


def literal_keys(source: str) -> list[str]:
    """Return the places where a script builds a query key itself."""
    return re.findall(r"(?:queryKey:|QueryData(?:<[^>]*>)?\(|[kK]ey(?:: QueryKey)? =)\s*\[.*", source)


def test_only_the_theme_has_global_styles() -> None:
    assert {path for path in STYLES if path not in MODULES} == THEME


def test_each_class_is_defined_in_one_stylesheet() -> None:
    owners = Counter(name for path in STYLES for name in classes_of(path.read_text()))
    assert [name for name, count in owners.items() if count > 1] == []


def test_each_class_of_a_module_is_used_and_each_used_class_is_defined() -> None:
    used: dict[Path, set[str]] = {path: set() for path in MODULES}
    for script in SCRIPTS:
        for name, module in imported_modules(script):
            used[module] |= set(re.findall(rf"\b{name}\.(\w+)", script.read_text()))
    wrong = {path.name: names ^ classes_of(path.read_text()) for path, names in used.items()}
    assert {name: classes for name, classes in wrong.items() if classes} == {}


def test_scripts_name_only_base_classes_by_strings() -> None:
    known = classes_of(BASE.read_text())
    unknown = {path.name: names for path in SCRIPTS if (names := literal_classes(path.read_text()) - known)}
    assert unknown == {}


@pytest.mark.parametrize("root", [WEB / "tests", Path(__file__).parent / "browser"], ids=["vitest", "browser"])
def test_tests_do_not_select_by_class(root: Path) -> None:
    selects = re.compile(r"""locator\(["']\.|querySelector(?:All)?\(["']\.|toHaveClass|getElementsByClassName""")
    assert [path.name for path in root.rglob("*.*") if path.suffix in CODE and selects.search(path.read_text())] == []


def test_query_keys_are_built_in_one_file() -> None:
    assert {path.name: keys for path in SCRIPTS if path != KEYS and (keys := literal_keys(path.read_text()))} == {}


def test_no_two_features_differ_by_an_s() -> None:
    names = sorted(path.name for path in (SOURCE / "features").iterdir())
    assert [pair for pair in combinations(names, 2) if len({re.sub(r"s\b", "", name) for name in pair}) == 1] == []


def test_no_file_is_too_long() -> None:
    assert [path.name for path in [*SCRIPTS, *STYLES] if path.read_text().count("\n") > MOST_LINES] == []


def test_planted_breaches_are_caught() -> None:
    assert classes_of(".a:hover > .b {} @media (max-width: 1.5rem) { .c :global(.d) { width: .5rem } }") == {*"abc"}
    assert literal_classes('<p className="small x" /> <p className={classNames("y", a && styles.z)} />') == {
        *"xy",
        "small",
    }
    assert literal_keys('useQuery({ queryKey: ["runs", id] })')
    assert literal_keys('const key = ["runs", id];')
    assert not literal_keys("useQuery({ queryKey: keys.run(id) })")


def test_every_address_of_the_service_has_the_path_below_which_a_proxy_serves_it() -> None:
    """The client of the API adds it itself."""
    address = r"""["'`]/(?:api/v1|sign-in|sign-out|assets)\b"""
    complete = rf"(?:client\.(?:GET|POST|PUT|PATCH|DELETE)|serviceAddress)\(\s*{address}"
    left = {path.name: re.findall(address, re.sub(complete, "", path.read_text())) for path in SCRIPTS}
    assert {name: found for name, found in left.items() if found} == {}
