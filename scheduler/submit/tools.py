"""The tools of program runs on the shared file system: the agent, and the part of `bigbatch` that scripts import.

Both use `runfiles`. It is not in the folder `python`, which is on the path of the programs: a program may have a module
of this name.

RUNS/.tools/HASH/agent                   the agent, started as `python RUNS/.tools/HASH/agent FOLDER`
RUNS/.tools/HASH/runfiles                what the agent and scripts do in a run's folder
RUNS/.tools/HASH/python/bigbatch         `import bigbatch` of the programs
RUNS/.tools/HASH/python/sitecustomize.py the start-up hook of Python programs

HASH is made from the files, so a version is written once, and jobs that wait or run use the version with which they
were submitted. A version is removed a year after its last use. HASH is no secret: a version that is there is compared
with the files before the first job of this process executes it, and is replaced if it is another one.
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

from contract.access.compiled_files import COMPILED, entries_of
from contract.access.owners import OURS, Examined, Owners
from contract.access.service_folders import TOOLS
from contract.folder.files.whole_folder import remove_folder
from contract.private_files import make_folder

SOURCE = Path(__file__).parents[2]  # of the packages
FOLDER_MODE = 0o755
TRIES = 3  # several workers may write a version at the same time
UNUSED_S = 366 * 86_400.0  # the longest time limit of a job is a year
USED_S = 86_400.0  # between two renewals of a version's time stamp
JOB = ("agent", "runfiles")
LIGHT = (
    "bigbatch/__init__.py",
    "bigbatch/wandb.py",
    "bigbatch/running",
    "bigbatch/injected",
)  # of the package bigbatch


@cache
def _files() -> tuple[tuple[str, bytes], ...]:
    """Return the path of each tool below RUNS/.tools/HASH, and its content."""
    found = {str(path.relative_to(SOURCE)): path for name in JOB for path in _python_files(SOURCE / name)}
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


def install_tools(runs_folder: Path, owners: Owners = OURS, examined: set[Examined] | None = None) -> None:
    """Write the tools, unless this version is there; may raise OSError. Call this before the submission.

    `examined`: what this process need not look at again. Raise UnsafeFolderError if others can put files into the
    folder.
    """
    examined = set() if examined is None else examined
    place = runs_folder / TOOLS / tools_version()
    make_folder(place.parent, FOLDER_MODE)
    owners.check(place.parent)
    for _ in range(TRIES):
        if _is_ours(place, owners, examined):
            return _renew(place)
        _write_version(place, owners)
    raise FileNotFoundError(f"the tools of program runs could not be written to {place}")


def _is_ours(place: Path, owners: Owners, examined: set[Examined]) -> bool:
    """Return whether a version has the right files and nobody else can change them."""
    try:
        found = Examined.of(place)
        if found not in examined:
            if _danger(place, owners) or _content(place) != dict(_files()):
                return False
            _keep_compiled(place)
            examined.add(found)
    except (OSError, ValueError):
        return False
    return True


def _danger(place: Path, owners: Owners) -> bool:
    """Return whether somebody else can change a file of the version; compiled files that they can change go."""
    return any(path.is_symlink() or owners.find_danger(path, path.lstat()) for path in entries_of(place, owners))


def _keep_compiled(place: Path) -> None:
    """Make the folders of what Python compiles: a job with a umask of 002 would let its group write into them."""
    for folder in {(place / name).parent for name, _ in _files()}:
        make_folder(folder / COMPILED, FOLDER_MODE)


def _content(place: Path) -> dict[str, bytes | None]:
    """Return the content of each file by its path, None for what is no file."""
    found = (path for path in place.rglob("*") if path.parent.name != COMPILED and not path.is_dir())
    return {path.relative_to(place).as_posix(): path.read_bytes() if path.is_file() else None for path in found}


def _write_version(place: Path, owners: Owners) -> None:
    """Write a version under a private name, and give it its own; another version that has the name is removed."""
    draft, aside = (place.with_name(f".{place.name}.{token_hex(8)}") for _ in range(2))
    try:
        for name, content in _files():
            path = draft / name
            make_folder(path.parent, FOLDER_MODE)
            _write(path, content)
        _keep_compiled(draft)
        if os.path.lexists(place) and not _is_ours(place, owners, set()):
            os.rename(place, aside)
        with suppress(OSError):  # another worker was first
            os.rename(draft, place)
            _remove_unused(place.parent)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        remove_folder(aside)


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
