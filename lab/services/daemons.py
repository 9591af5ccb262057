"""The daemons of the lab with their command lines and readiness checks.

Every daemon runs in the foreground of its own session, so the process that `up` starts is the daemon, and the daemon
outlives `up`. Links in the state folder start the daemons: the command line then identifies each daemon to `ps`, to
`down` and to the next `up`, also slurmdbd, which accepts no path of a configuration file.
"""

import socket
from collections.abc import Callable
from dataclasses import dataclass

from lab import network, processes
from lab.command import succeeds
from lab.layout import HEAD_ADDRESS, Host, Layout
from lab.services import config_files
from lab.state_folder import StateFolder

ENTER = 'echo "$1" > /proc/sys/kernel/hostname; shift; exec "$@"'


@dataclass(frozen=True)
class Daemon:
    """One daemon, its command line and its readiness check."""

    name: str  # in messages, and of its log file
    words: tuple[str, ...]
    is_serving: Callable[[], bool]
    host: Host | None = None  # None: on the machine itself

    @property
    def command(self) -> tuple[str, ...]:
        """Return the command that starts the daemon on its host."""
        if not self.host:
            return self.words
        # `ip netns exec` would mount a new /sys without the cgroups that slurmd requires.
        enter = ("nsenter", f"--net={network.NAMESPACES / self.host.namespace}", "unshare", "--uts")
        return (*enter, "sh", "-c", ENTER, "sh", self.host.name, *self.words)

    def processes(self) -> list[processes.Process]:
        """Return the living processes of this daemon: normally one or none, after a crash possibly several."""
        return processes.find_by_command(self.words)

    def is_running(self) -> bool:
        """Return whether the daemon runs on its host, and not in a namespace that has been deleted."""
        alive = self.processes()
        if not self.host:
            return bool(alive)
        # The inode is 0 if this user may not read the namespaces of other users' processes.
        return any(process.network in (network.namespace_inode(self.host.namespace), 0) for process in alive)


def head_daemons(folder: StateFolder, *, has_accounting: bool = True) -> list[Daemon]:
    """Return the daemons of the machine itself, each after the daemons that it depends on."""
    conf, munge = str(folder.slurm_conf), folder.munge_socket.parent
    munge_files = (f"--key-file={munge}/key", f"--seed-file={munge}/seed", f"--pid-file={folder.root}/run/munged.pid")
    munged = (folder.program("munged"), "--foreground", f"--socket={folder.munge_socket}", *munge_files)
    mariadbd = (folder.program("mariadbd"), f"--defaults-file={folder.root}/mariadb.conf")
    slurmctld = (folder.program("slurmctld"), "-D", "-f", conf)
    accounting = [
        Daemon("mariadbd", mariadbd, lambda: _accepts(("127.0.0.1", config_files.DATABASE_PORT))),
        Daemon(
            "slurmdbd",
            (folder.program("slurmdbd"), "-D"),
            lambda: _accepts((HEAD_ADDRESS, config_files.ACCOUNTING_PORT)),
        ),
    ]
    return [
        Daemon("munged", munged, lambda: _accepts(str(folder.munge_socket))),
        *(accounting if has_accounting else []),
        Daemon("slurmctld", slurmctld, lambda: succeeds("scontrol", "ping", slurm_conf=conf)),
    ]


def host_daemons(layout: Layout, folder: StateFolder) -> list[Daemon]:
    """Return one slurmd per host; slurmctld, not this module, checks whether a slurmd serves."""
    words = (folder.program("slurmd"), "-D", "-f", str(folder.slurm_conf), "-N")
    return [Daemon(f"slurmd-{host.name}", (*words, host.name), lambda: True, host) for host in layout.hosts]


def _accepts(address: str | tuple[str, int]) -> bool:
    with socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET) as client:
        client.settimeout(1)
        return client.connect_ex(address) == 0
