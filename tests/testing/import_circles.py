"""Circles of imports within a package. Imports in functions count: they hide a circle, and do not remove it."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

Graph = Mapping[str, set[str]]


def imports_within(package: Path) -> dict[str, set[str]]:
    """Map each module of a package to the modules of the package that it imports, wherever in its file."""
    paths = {_name(package, path): path for path in package.rglob("*.py")}
    return {name: set(_imported(path.read_text(), paths)) - {name} for name, path in paths.items()}


def _name(package: Path, path: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(source: str, modules: Mapping[str, object]) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and (parent := node.module) and parent in modules:
            names = (f"{parent}.{alias.name}" for alias in node.names)
            yield from (name if name in modules else parent for name in names)


def of_folders(graph: Graph) -> dict[str, set[str]]:
    """Return the same imports with each folder of the package as one module."""
    folders = {".".join(name.split(".")[:2]) for name in graph if name.count(".") > 1}

    def place(name: str) -> str:
        top = ".".join(name.split(".")[:2])
        return top if top in folders else name

    found: dict[str, set[str]] = {place(name): set() for name in graph}
    for name, imported in graph.items():
        found[place(name)] |= {place(one) for one in imported} - {place(name)}
    return found


def circles(graph: Graph) -> list[list[str]]:
    """Return the sets of modules each of which imports, by way of the others, itself."""
    reached = {name: _reached(name, graph) for name in graph}
    found = {tuple(sorted(one for one in ahead if name in reached[one])) for name, ahead in reached.items()}
    return [list(circle) for circle in sorted(found) if circle]


def _reached(name: str, graph: Graph) -> set[str]:
    seen: set[str] = set()
    ahead = [*graph.get(name, ())]
    while ahead:
        if (one := ahead.pop()) not in seen:
            seen.add(one)
            ahead += graph.get(one, ())
    return seen
