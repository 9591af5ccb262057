"""The tools of program runs on the shared file system: the agent, and the part of `bigbatch` that scripts import.

RUNS/.tools/HASH/agent                   the agent, started as `python RUNS/.tools/HASH/agent FOLDER`
RUNS/.tools/HASH/python/bigbatch         `import bigbatch` of the programs
RUNS/.tools/HASH/python/sitecustomize.py the start-up hook of Python programs

HASH is made from the files, so a version is written once, and jobs that wait or run use the version with which they
were submitted. A version is removed a year after its last use.
"""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

SOURCE = Path(__file__).parents[2]  # of the packages
TOOLS = ".tools"
UNUSED_S = 366 * 86_400.0  # the longest time limit of a job is a year
USED_S = 86_400.0  # between two renewals of a version's time stamp
LIGHT = (
    "bigbatch/__init__.py",
    "bigbatch/wandb.py",
    "bigbatch/running",
    "bigbatch/injected",
)  # of the package bigbatch


@cache
def _files() -> tuple[tuple[str, bytes], ...]:
    """Return the path of each tool below RUNS/.tools/HASH, and its content."""
    found = {f"agent/{path.relative_to(SOURCE / 'agent')}": path for path in sorted((SOURCE / "agent").rglob("*.py"))}
    for name in LIGHT:
        found |= {f"python/{path.relative_to(SOURCE)}": path for path in _python_files(SOURCE / name)}
    start_up = SOURCE / "bigbatch" / "injected" / "sitecustomize.py"
    if start_up.exists():
        found["python/sitecustomize.py"] = start_up
    return tuple((name, path.read_bytes()) for name, path in sorted(found.items()))


def _python_files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    elif path.is_dir():
        yield from sorted(path.rglob("*.py"))


@cache
def tools_version() -> str:
    """Return the hash of the tools."""
    digest = sha256()
    for name, content in _files():
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]


def agent_folder(runs_folder: Path) -> Path:
    """Return the folder of the agent that jobs start, below the folder of the run folders."""
    return runs_folder / TOOLS / tools_version() / "agent"


def install_tools(runs_folder: Path) -> None:
    """Write the tools, unless this version is there; may raise OSError. Call this before the submission."""
    place = runs_folder / TOOLS / tools_version()
    if place.is_dir():
        _renew(place)
        return
    draft = place.with_name(f".{place.name}.{token_hex(8)}")
    try:
        for name, content in _files():
            path = draft / name
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(path, content)
        with suppress(OSError):  # another worker was first
            os.rename(draft, place)
            _remove_unused(place.parent)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    if not place.is_dir():
        raise FileNotFoundError(f"the tools of program runs could not be written to {place}")


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    with os.fdopen(descriptor, "wb") as file:  # writes all of it, where one write on a full disk ends in the middle
        file.write(content)
        file.flush()
        os.fsync(file)


def _renew(place: Path) -> None:
    if time.time() - place.lstat().st_mtime > USED_S:
        with suppress(OSError):
            os.utime(place)


def _remove_unused(folder: Path) -> None:
    """Remove the versions, and the drafts of workers that died, which no job can use any more."""
    for place in folder.iterdir():
        if time.time() - place.lstat().st_mtime > UNUSED_S:
            shutil.rmtree(place, ignore_errors=True)
