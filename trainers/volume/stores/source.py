"""Source: which array of N5, or which scale of a precomputed volume, a folder is, found without their library."""

import json
from pathlib import Path
from typing import Any, NamedTuple


class Source(NamedTuple):
    """What the library opens: a format and a folder, and for precomputed volumes one of their scales."""

    driver: str
    folder: Path
    scale: int | None = None


def find_source(folder: Path) -> Source | None:
    """Return what the library opens in a folder; None if there is none. The folder of a scale is opened as that scale.

    Raise ValueError if the folder has several arrays, of which one is to be named.
    """
    if (attributes := _read(folder / "attributes.json")) is not None:
        if "dimensions" in attributes:
            return Source("n5", folder)
        arrays = sorted(path.parent.name for path in folder.glob("*/attributes.json"))
        raise ValueError(f"{folder} is a group of N5 and no array; name one of its arrays: {', '.join(arrays)}")
    if "scales" in (_read(folder / "info") or {}):
        return Source("neuroglancer_precomputed", folder, 0)
    scales = (_read(folder.parent / "info") or {}).get("scales", [])
    keys = [scale.get("key") for scale in scales]
    if folder.name in keys:
        return Source("neuroglancer_precomputed", folder.parent, keys.index(folder.name))
    return None


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
