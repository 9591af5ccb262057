"""Homes of services below a program's folder: each run would add to the next snapshot."""

import os
from collections.abc import Iterable

from contract.access.service_address import NAME

MARKS = ("up.lock", NAME)  # what `bigbatch up` writes into its home


def is_home(folder: str) -> bool:
    """Return whether the folder is the home of a service."""
    return all(os.path.isfile(os.path.join(folder, mark)) for mark in MARKS)


def without_homes(root: str, names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the paths of a tree without those in homes of services, and a sentence for each home."""
    names = list(names)
    folders = {os.path.dirname(name) for name in names if os.path.basename(name) == NAME}
    homes = sorted(folder for folder in folders if folder and is_home(os.path.join(root, folder)))
    if not homes:
        return names, []
    inside = tuple(f"{home}/" for home in homes)
    return [name for name in names if not name.startswith(inside)], [
        f"{home} is the home of a service" for home in homes
    ]
