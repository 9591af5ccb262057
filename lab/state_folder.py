"""The state folder: it contains every file of the lab except the marked lines in /etc/hosts."""

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
class StateFolder:
    """The paths inside the state folder; the properties create nothing."""

    root: Path

    @property
    def layout(self) -> Path:
        """Return the file of the current layout; its presence marks the folder as the lab's and safe to delete."""
        return self.root / "layout.json"

    @property
    def slurm_conf(self) -> Path:
        """Return the value for SLURM_CONF; Slurm reads its other files from the same folder."""
        return self.root / "slurm.conf"

    @property
    def munge_socket(self) -> Path:
        """Return the socket of munged."""
        return self.root / "munge" / "socket"

    @property
    def failing_prologs(self) -> Path:
        """Return the file that names the hosts, one in each line, whose prolog fails; without it no prolog fails."""
        return self.root / "failing-prologs"

    @property
    def database(self) -> Path:
        """Return MariaDB's data folder."""
        return self.root / "database"

    def program(self, name: str) -> str:
        """Return the link that starts a daemon; the daemon's command line then identifies the lab."""
        return str(self.root / "sbin" / name)

    def stderr(self, daemon: str) -> Path:
        """Return the file with a daemon's output since its last start; its whole log is in NAME.log."""
        return self.root / "log" / f"{daemon}.stderr"

    def create(self) -> None:
        """Create the folder and its subfolders, readable for all users, who need slurm.conf and the munge socket."""
        if self.root.exists() and any(self.root.iterdir()) and not self.layout.exists():
            raise LabError(f"{self.root} contains files that are not the lab's; name another folder in BIGBATCH_LAB")
        self.root.mkdir(parents=True, exist_ok=True)
        self.layout.touch()  # first: after a crash the file still marks the folder as the lab's
        for part in ("", "run", "log", "sbin", "dev", "munge", "slurmctld", "slurmd", "tmp"):
            (self.root / part).mkdir(exist_ok=True)
            (self.root / part).chmod(0o755)  # independent of the caller's umask

    def remove(self) -> None:
        """Delete the folder if it belongs to the lab."""
        if self.layout.exists():
            shutil.rmtree(self.root)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Exclude a concurrent `up` or `down`; the lock is on the parent, because `down` deletes the folder itself."""
        self.root.parent.mkdir(parents=True, exist_ok=True)
        parent = os.open(self.root.parent, os.O_RDONLY)
        try:
            fcntl.flock(parent, fcntl.LOCK_EX)
            yield
        finally:
            os.close(parent)


def selected_folder() -> StateFolder:
    """Return the folder that BIGBATCH_LAB names, or the default folder."""
    return StateFolder(Path(os.environ.get("BIGBATCH_LAB") or DEFAULT).absolute())
