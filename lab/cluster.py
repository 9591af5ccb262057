"""The whole cluster: bring it up or repair it, tell how it is, take it down."""

import time

from lab import layout, network, processes
from lab.command import run
from lab.errors import LabError
from lab.layout import Layout
from lab.processes import Process
from lab.services import config_writer as writing
from lab.services import daemons, database
from lab.services import lifecycle as running
from lab.state_folder import Folder

HOSTS_WITHIN_S = 60
NOT_IN_SERVICE = ("unknown", "down", "fail", "error", "reboot")


def up(wanted: Layout, folder: Folder) -> None:
    """Bring the lab to this layout from wherever it is: nothing, half-made, broken, or up already."""
    with folder.alone():
        present = layout.load(folder.layout)
        if present and present.hosts != wanted.hosts:
            raise LabError(
                f"A lab of {present.gpu_hosts} gpu and {present.knl_hosts} knl hosts is there; to change hosts, "
                "take it down first (python -m lab down)."
            )
        folder.create()
        wanted.save(folder.layout)
        network.plug_in(wanted)
        network.shape(wanted)
        network.name_hosts(wanted)
        changed = writing.write(wanted, folder)
        database.make(folder)
        _start(wanted, folder, changed=changed)


def down(folder: Folder) -> None:
    """Take away everything that `up` made, jobs and accounting included; return when it is gone."""
    with folder.alone():
        *others, slurmctld = daemons.on_the_head(folder)
        inhabitants = _inhabitants(folder)
        running.stop(slurmctld)  # first, or it would requeue and note what is about to die
        processes.stop([process.pid for process in inhabitants], patience_s=2)
        network.unplug()
        for daemon in reversed(others):
            running.stop(daemon)
        database.stop_making(folder)
        network.forget_hosts()
        folder.remove()


def host_states(folder: Folder) -> dict[str, str]:
    """Return what slurmctld says of every host: idle, mixed, down...; a star means that it does not answer."""
    words = run("sinfo", "--noheader", "--Node", "--format=%N %T", slurm_conf=str(folder.slurm_conf)).split()
    return dict(zip(words[::2], words[1::2], strict=True))


def in_service(state: str) -> bool:
    """Tell whether a host answers and may be given jobs by slurmctld or by whoever drained it."""
    return not state.endswith("*") and not state.startswith(NOT_IN_SERVICE)


def _start(wanted: Layout, folder: Folder, *, changed: bool) -> None:
    *others, slurmctld = daemons.on_the_head(folder)
    was_running = slurmctld.runs()
    for daemon in [*others, slurmctld, *daemons.on_the_hosts(wanted, folder)]:
        running.start(daemon, folder)
    if changed and was_running:
        run("scontrol", "reconfigure", slurm_conf=str(folder.slurm_conf))
    _wait_for_hosts(folder)


def _wait_for_hosts(folder: Folder) -> None:
    until = time.monotonic() + HOSTS_WITHIN_S
    while lost := {host: state for host, state in host_states(folder).items() if not in_service(state)}:
        if time.monotonic() > until:
            raise LabError(f"not in service after {HOSTS_WITHIN_S} s: {lost}; the reasons are in {folder.root}/log")
        time.sleep(0.1)


def _inhabitants(folder: Folder) -> list[Process]:
    """Return all processes on the lab's hosts, also on one whose namespace has lost its name."""
    slurmd = folder.program("slurmd")
    strays = {process.network for process in processes.carrying_out([slurmd])}
    found = processes.living_in(strays | {network.inode(namespace) for namespace in network.namespaces()})
    for process in found:
        if process.program == "slurmd" and process.words[0] != slurmd:
            raise LabError(f"the lab that is up has another folder: {process.words[0]}; name it in BIGBATCH_LAB")
    return found
