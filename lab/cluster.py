"""The cluster as a whole: start or repair it, query its hosts, remove it."""

import time

from lab import layout, network, processes
from lab.command import run
from lab.errors import LabError
from lab.layout import Layout
from lab.processes import Process
from lab.services import cgroups, config_writer, daemons, database, lifecycle
from lab.state_folder import StateFolder

HOSTS_READY_WITHIN_S = 60
NOT_IN_SERVICE = ("unknown", "down", "fail", "error", "reboot")


def up(wanted: Layout, folder: StateFolder) -> None:
    """Bring the lab to this layout from any state: absent, partly created, broken, or running."""
    with folder.lock():
        present = layout.load(folder.layout)
        if present and present.hosts != wanted.hosts:
            raise LabError(
                f"A lab with {present.gpu_hosts} gpu and {present.knl_hosts} knl hosts exists. The number of hosts "
                "cannot change; remove the lab first (python -m lab down)."
            )
        if present and present.limits_memory != wanted.limits_memory:
            raise LabError(
                "A lab exists whose jobs have another memory limit. The limit cannot change; remove the lab first "
                "(python -m lab down)."
            )
        if present and present.has_accounting != wanted.has_accounting:
            raise LabError(
                "A lab exists with accounting, or without. That cannot change; remove the lab first "
                "(python -m lab down)."
            )
        folder.create()
        wanted.save(folder.layout)
        network.connect_hosts(wanted)
        network.shape_links(wanted)
        network.add_host_names(wanted)
        is_changed = config_writer.write(wanted, folder)
        if wanted.has_accounting:
            database.create(folder)
        if present and (present.max_submit_jobs is None) != (wanted.max_submit_jobs is None):
            *_, slurmctld = daemons.head_daemons(folder)
            lifecycle.stop(slurmctld)  # a running one does not read AccountingStorageEnforce again
        _start(wanted, folder, is_changed=is_changed)


def down(folder: StateFolder) -> None:
    """Remove everything that `up` created, jobs and accounting included; return when all is gone."""
    with folder.lock():
        *others, slurmctld = daemons.head_daemons(folder)
        on_hosts = _find_processes_on_hosts(folder)
        lifecycle.stop(slurmctld)  # first: a running slurmctld would requeue the jobs that are killed next
        processes.stop([process.pid for process in on_hosts], patience_s=2)
        network.remove()
        for daemon in reversed(others):
            lifecycle.stop(daemon)
        database.stop_creation(folder)
        network.remove_host_names()
        if present := layout.load(folder.layout):
            cgroups.remove(present)
        folder.remove()


def host_states(folder: StateFolder) -> dict[str, str]:
    """Return the state of every host in slurmctld, such as idle, mixed or down; a star marks a host without answer."""
    words = run("sinfo", "--noheader", "--Node", "--format=%N %T", slurm_conf=str(folder.slurm_conf)).split()
    return dict(zip(words[::2], words[1::2], strict=True))


def is_in_service(state: str) -> bool:
    """Return whether a host in this state answers and can run jobs, a drained host included."""
    return not state.endswith("*") and not state.startswith(NOT_IN_SERVICE)


def _start(wanted: Layout, folder: StateFolder, *, is_changed: bool) -> None:
    *others, slurmctld = daemons.head_daemons(folder, has_accounting=wanted.has_accounting)
    was_running = slurmctld.is_running()
    for daemon in [*others, slurmctld, *daemons.host_daemons(wanted, folder)]:
        lifecycle.start(daemon, folder)
    if is_changed and was_running:
        run("scontrol", "reconfigure", slurm_conf=str(folder.slurm_conf))
    if wanted.max_submit_jobs is not None:
        database.limit_submitted_jobs(folder, wanted.max_submit_jobs)
    _wait_for_hosts(folder)


def _wait_for_hosts(folder: StateFolder) -> None:
    deadline = time.monotonic() + HOSTS_READY_WITHIN_S
    while lost := {host: state for host, state in host_states(folder).items() if not is_in_service(state)}:
        if time.monotonic() > deadline:
            raise LabError(
                f"hosts are not in service after {HOSTS_READY_WITHIN_S} s: {lost}; see the logs in {folder.root}/log"
            )
        time.sleep(0.1)


def _find_processes_on_hosts(folder: StateFolder) -> list[Process]:
    """Return all processes on the lab's hosts, also on a host whose namespace has lost its name."""
    slurmd = folder.program("slurmd")
    unnamed = {process.network for process in processes.find_by_command([slurmd])}
    named = {network.namespace_inode(namespace) for namespace in network.list_namespaces()}
    found = processes.find_in_networks(unnamed | named)
    for process in found:
        if process.program == "slurmd" and process.words[0] != slurmd:
            raise LabError(
                f"the running lab has another state folder (its slurmd is {process.words[0]}); "
                "name that folder in BIGBATCH_LAB"
            )
    return found
