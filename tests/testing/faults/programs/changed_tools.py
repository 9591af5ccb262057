"""Tools of program runs that change under a running service, and a worker that is killed while it copies them.

The file GENERATION in the home folder is part of the tools, so a new text makes a new version as an upgrade does. The
file INTERRUPT has the number of files after which the worker that takes the file kills itself.
"""

import os
import signal
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import scheduler.submit.submission
from contract.access.owners import OURS, Examined, Owners
from contract.access.service_folders import TOOLS
from scheduler.submit import tools

GENERATION, INTERRUPT = "tools-generation", "interrupt-tools"


class ChangedTools:
    """The tools of one worker process."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._files, self._write = tools._files, tools._write
        self._generation = b""
        self._left: int | None = None  # files until this process kills itself

    def patch(self) -> None:
        """Let this process read the requests before each submission of programs."""
        vars(tools)["_files"] = self._all_files  # without its cache
        tools._write = self._write_or_die
        vars(scheduler.submit.submission)["install_tools"] = self._install

    def _install(self, runs_folder: Path, owners: Owners = OURS, examined: set[Examined] | None = None) -> None:
        before = self._generation
        with suppress(FileNotFoundError):
            self._generation = (self._home / GENERATION).read_bytes()
        with suppress(FileNotFoundError, ValueError):
            self._left = int((self._home / INTERRUPT).read_text())
            (self._home / INTERRUPT).unlink()
        tools.tools_version.cache_clear()
        try:
            tools.install_tools(runs_folder, owners, examined)
        except OSError:  # as on a full disk: jobs of other submissions use the version that is there
            self._generation = before
            tools.tools_version.cache_clear()
            raise

    def _all_files(self) -> tuple[tuple[str, bytes], ...]:
        files = self._files()
        return (*files, ("agent/generation.py", self._generation)) if self._generation else files

    def _write_or_die(self, path: Path, content: bytes) -> None:
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
        self._write(path, content)


def damaged_versions(runs_folder: Path) -> list[str]:
    """Return the versions whose files are not those from which their name is made."""
    folder = runs_folder / TOOLS
    versions = [place for place in folder.iterdir() if not place.name.startswith(".")] if folder.exists() else []
    return [place.name for place in versions if _version_of(place) != place.name]


def _version_of(place: Path) -> str:
    digest = sha256()
    files = {str(path.relative_to(place)): path for path in place.rglob("*.py")}
    # the generation comes after the files of the product
    for name in sorted(files, key=lambda name: (name == "agent/generation.py", name)):
        content = files[name].read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]
