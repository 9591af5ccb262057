"""How the lab is, for a person at a terminal."""

from lab import cluster, layout
from lab.errors import LabError
from lab.layout import Host
from lab.services import daemons
from lab.state_folder import Folder


def describe(folder: Folder) -> tuple[str, bool]:
    """Return a page on daemons, hosts and links, and whether all is well."""
    present = layout.load(folder.layout)
    if not present:
        return f"no lab in {folder.root}", False
    lines, all_well = [f"links {present.rate or 'unshaped'}, state in {folder.root}"], True
    for daemon in [*daemons.on_the_head(folder), *daemons.on_the_hosts(present, folder)]:
        pids = " ".join(str(process.pid) for process in daemon.processes())
        lines += [f"{daemon.name:<14} {'process ' + pids if daemon.runs() else 'NOT RUNNING'}"]
        all_well &= daemon.runs()
    states = _states(folder)
    for host in present.hosts:
        state = states.get(host.name, "unknown")
        lines += [_host(host, state)]
        all_well &= cluster.in_service(state)
    return "\n".join(lines), all_well


def _states(folder: Folder) -> dict[str, str]:
    try:
        return cluster.host_states(folder)
    except LabError:  # slurmctld does not answer, which the line on slurmctld says
        return {}


def _host(host: Host, state: str) -> str:
    offers = f"{host.cpus} cpus, {host.gpus} gpus, {','.join(host.features)}"
    return f"{host.name:<14} {host.address:<14} {state:<10} {offers}"
