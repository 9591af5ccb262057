"""The report that `python -m lab status` prints."""

from lab import cluster, layout
from lab.errors import LabError
from lab.layout import Host
from lab.services import daemons
from lab.state_folder import StateFolder


def describe(folder: StateFolder) -> tuple[str, bool]:
    """Return a text about daemons, hosts and links, and whether all of them are healthy."""
    present = layout.load(folder.layout)
    if not present:
        return f"no lab in {folder.root}", False
    lines, is_healthy = [f"links {present.rate or 'unshaped'}, state in {folder.root}"], True
    on_head = daemons.head_daemons(folder, has_accounting=present.has_accounting)
    for daemon in [*on_head, *daemons.host_daemons(present, folder)]:
        pids = " ".join(str(process.pid) for process in daemon.processes())
        lines += [f"{daemon.name:<14} {'process ' + pids if daemon.is_running() else 'NOT RUNNING'}"]
        is_healthy &= daemon.is_running()
    states = _host_states(folder)
    for host in present.hosts:
        state = states.get(host.name, "unknown")
        lines += [_host_line(host, state)]
        is_healthy &= cluster.is_in_service(state)
    return "\n".join(lines), is_healthy


def next_steps(folder: StateFolder) -> str:
    """Return the commands that follow the start of the lab."""
    return "\n".join(
        [
            "The lab runs. Next, in this shell:",
            f"    export SLURM_CONF={folder.slurm_conf}    # sbatch, squeue and the service of this shell use the lab",
            "    . .venv/bin/activate",
            "    bigbatch up --home .bigbatch    # its runs may use the lab: resources: {kind: slurm, partition: gpu}",
            "make lab-down removes the lab with its jobs.",
        ]
    )


def _host_states(folder: StateFolder) -> dict[str, str]:
    try:
        return cluster.host_states(folder)
    except LabError:  # slurmctld does not answer; the line about slurmctld reports that
        return {}


def _host_line(host: Host, state: str) -> str:
    resources = f"{host.cpus} cpus, {host.gpus} gpus, {','.join(host.features)}"
    return f"{host.name:<14} {host.address:<14} {state:<10} {resources}"
