"""Files of points for a search: CSV with a head of dotted paths, or a list of objects as JSON or YAML."""

import csv
from io import StringIO
from typing import Any

from contract.yaml_reader import DocumentError, read_document


def read_points(name: str, content: bytes) -> list[dict[str, Any]]:
    """Return the points of a file; raise ValueError. A cell of CSV is read as YAML, and an empty one is left out."""
    if name.lower().endswith(".csv"):
        return _of_csv(content.decode("utf-8-sig"))
    points = _document(b"points:\n" + b"\n".join(b"  " + line for line in content.splitlines()))["points"]
    if not isinstance(points, list) or not all(isinstance(point, dict) for point in points):
        raise ValueError("expected a list of objects, each with dotted paths and values")
    return points


def _of_csv(text: str) -> list[dict[str, Any]]:
    rows = csv.DictReader(StringIO(text), strict=True)
    points = []
    for number, row in enumerate(rows, 1):
        if None in row or None in row.values():
            raise ValueError(f"row {number} has not as many cells as the head")
        points.append({path: _document(f"cell: {cell}".encode())["cell"] for path, cell in row.items() if cell.strip()})
    return points


def _document(text: bytes) -> dict[str, Any]:
    try:
        return read_document(text)
    except DocumentError as error:
        raise ValueError(str(error)) from error
