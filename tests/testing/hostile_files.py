"""What a job may leave under the name of a file in its run folder."""

import os
import resource
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

HUGE_BYTES = 3 << 30
SECRET = "a-line-of-another-user"
MOST_MEMORY_KB = 512 << 10  # by which reading hostile files may enlarge this process


def _link_to(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(target)


def _link_to_secret(path: Path) -> None:
    secret = path.with_name("secret.txt")
    secret.write_text(f"{SECRET}\n")
    path.symlink_to(secret)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(HUGE_BYTES)


HUGE = "huge file"
PLANTS: Mapping[str, Callable[[Path], None]] = {
    "link to a file": _link_to_secret,
    "link to passwd": _link_to("/etc/passwd"),
    "link to environ": _link_to("/proc/self/environ"),
    "link to zero": _link_to("/dev/zero"),
    "dangling link": _link_to("nowhere"),
    "FIFO": os.mkfifo,
    "folder": Path.mkdir,
    HUGE: _sparse,
}
IRREGULAR = [kind for kind in PLANTS if kind != HUGE]


def plant(path: Path, kind: str) -> None:
    """Replace a file by a hostile one."""
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    path.unlink(missing_ok=True)
    PLANTS[kind](path)


@contextmanager
def bounded_memory() -> Iterator[None]:
    """Fail if the block enlarges this process by more than half a gigabyte."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_MEMORY_KB
