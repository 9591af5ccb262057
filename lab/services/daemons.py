"""The daemons of the lab: what each is called, how it is started, and how one knows that it runs and serves.

All run in the foreground of a session of their own: the process we start is the daemon, and it outlives us. They are
started through links in the state folder: so each of them (slurmdbd too, which takes no file's name) is known by its
command line, to `ps`, to `down` and to the next `up`.
"""

import socket
from collections.abc import Callable
from dataclasses import dataclass

from lab import network, processes
from lab.command import works
from lab.layout import HEAD_ADDRESS, Host, Layout
from lab.services import config_files as configuration
from lab.state_folder import Folder

ENTER = 'echo "$1" > /proc/sys/kernel/hostname; shift; exec "$@"'


@dataclass(frozen=True)
class Daemon:
    """One daemon, its command line and the question whether it serves."""

    name: str  # in messages and of its log
    words: tuple[str, ...]
    serves: Callable[[], bool]
    host: Host | None = None  # None: on the machine itself

    @property
    def command(self) -> tuple[str, ...]:
        """Return the words that start it on its host."""
        if not self.host:
            return self.words
        # not `ip netns exec`: that mounts a new /sys without the cgroups that slurmd insists on
        enter = ("nsenter", f"--net={network.NAMESPACES / self.host.namespace}", "unshare", "--uts")
        return (*enter, "sh", "-c", ENTER, "sh", self.host.name, *self.words)

    def processes(self) -> list[processes.Process]:
        """Return the living processes of this daemon: one, none, or after a mishap more."""
        return processes.carrying_out(self.words)

    def runs(self) -> bool:
        """Tell whether it is alive where it should be, not in a namespace that was deleted under it."""
        alive = self.processes()
        if not self.host:
            return bool(alive)
        # 0: only root may know where a process lives
        return any(process.network in (network.inode(self.host.namespace), 0) for process in alive)


def on_the_head(folder: Folder) -> list[Daemon]:
    """Return the four daemons of the machine itself, each after those that it leans on."""
    conf, munge = str(folder.slurm_conf), folder.munge_socket.parent
    munge_files = (f"--key-file={munge}/key", f"--seed-file={munge}/seed", f"--pid-file={folder.root}/run/munged.pid")
    munged = (folder.program("munged"), "--foreground", f"--socket={folder.munge_socket}", *munge_files)
    mariadbd = (folder.program("mariadbd"), f"--defaults-file={folder.root}/mariadb.conf")
    slurmctld = (folder.program("slurmctld"), "-D", "-f", conf)
    return [
        Daemon("munged", munged, lambda: _accepts(str(folder.munge_socket))),
        Daemon("mariadbd", mariadbd, lambda: _accepts(("127.0.0.1", configuration.DATABASE_PORT))),
        Daemon(
            "slurmdbd",
            (folder.program("slurmdbd"), "-D"),
            lambda: _accepts((HEAD_ADDRESS, configuration.ACCOUNTING_PORT)),
        ),
        Daemon("slurmctld", slurmctld, lambda: works("scontrol", "ping", slurm_conf=conf)),
    ]


def on_the_hosts(layout: Layout, folder: Folder) -> list[Daemon]:
    """Return one slurmd per host; whether it serves is for slurmctld to say."""
    words = (folder.program("slurmd"), "-D", "-f", str(folder.slurm_conf), "-N")
    return [Daemon(f"slurmd-{host.name}", (*words, host.name), lambda: True, host) for host in layout.hosts]


def _accepts(address: str | tuple[str, int]) -> bool:
    with socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET) as caller:
        caller.settimeout(1)
        return caller.connect_ex(address) == 0
