"""The state folder: everything that the lab writes, apart from its marked lines in /etc/hosts, lies in here."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab.errors import LabError
from lab.instance import SUFFIX

DEFAULT = f"/var/lib/bigbatch-lab{SUFFIX}"


@dataclass(frozen=True)
class Folder:
    """Name the places inside the state folder; nothing is created by asking."""

    root: Path

    @property
    def layout(self) -> Path:
        """The layout in force. It also marks the folder as ours, which is what makes it safe to delete."""
        return self.root / "layout.json"

    @property
    def slurm_conf(self) -> Path:
        """What SLURM_CONF must name; Slurm looks for its other files beside it."""
        return self.root / "slurm.conf"

    @property
    def munge_socket(self) -> Path:
        return self.root / "munge" / "socket"

    @property
    def database(self) -> Path:
        return self.root / "database"

    def program(self, name: str) -> str:
        """The link by which a daemon is started, so that its command line says whose it is."""
        return str(self.root / "sbin" / name)

    def stderr(self, daemon: str) -> Path:
        """What a daemon said since its last start. Slurm's daemons keep a log with times beside it, over all starts."""
        return self.root / "log" / f"{daemon}.stderr"

    def create(self) -> None:
        """Make the folder and its parts, readable for all: any user's `sbatch` reads slurm.conf and speaks to munge."""
        if self.root.exists() and any(self.root.iterdir()) and not self.layout.exists():
            raise LabError(f"{self.root} holds files that are not the lab's; name another folder in BIGBATCH_LAB")
        self.root.mkdir(parents=True, exist_ok=True)
        self.layout.touch()  # first of all: from here on a crash leaves a folder that is known as ours
        for part in ("", "run", "log", "sbin", "dev", "munge", "slurmctld", "slurmd"):
            (self.root / part).mkdir(exist_ok=True)
            (self.root / part).chmod(0o755)  # whatever the caller's umask is

    def remove(self) -> None:
        """Delete the folder, unless it was never ours."""
        if self.layout.exists():
            shutil.rmtree(self.root)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep a second `up` or `down` waiting. The lock is on the parent, because the folder itself comes and goes."""
        self.root.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.root.parent, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


def chosen() -> Folder:
    """Return the folder that BIGBATCH_LAB names, or the default one."""
    return Folder(Path(os.environ.get("BIGBATCH_LAB") or DEFAULT).absolute())
