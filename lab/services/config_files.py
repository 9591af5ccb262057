"""The contents of all configuration files, as functions of the layout and the state folder."""

from lab.instance import PORT_OFFSET
from lab.layout import GPUS_PER_HOST, GRACE_S, HEAD_ADDRESS, MEMORY_MB, MOST_CPUS, Host, Layout
from lab.state_folder import StateFolder

# These ports differ from the defaults of Slurm and MariaDB, so that an installed Slurm or MariaDB can run as well.
# They lie below the ephemeral ports, which the kernel may have given to a client when the lab starts.
CONTROL_PORT, HOST_PORT, ACCOUNTING_PORT, DATABASE_PORT = (port + PORT_OFFSET for port in (26817, 26818, 26819, 23306))

SLURM_CONF = """\
ClusterName=lab
SlurmctldHost={head}({address})
SlurmUser=root
SlurmctldPort={control_port}
SlurmdPort={host_port}
AuthType=auth/munge
# a preempted or requeued job waits until its old credential expires; the default is 120 s
AuthInfo=socket={folder.munge_socket},cred_expire=20
StateSaveLocation={folder.root}/slurmctld
SlurmdSpoolDir={folder.root}/slurmd/%n
SlurmctldPidFile={folder.root}/run/slurmctld.pid
# PMIx makes a folder of the same name on each host of a step, and the hosts share /tmp
TmpFS={folder.root}/tmp/%n
SlurmdPidFile={folder.root}/run/slurmd-%n.pid
SlurmctldLogFile={folder.root}/log/slurmctld.log
SlurmdLogFile={folder.root}/log/slurmd-%n.log
TaskProlog={folder.root}/task-prolog
Prolog={folder.root}/prolog

{accounting}JobAcctGatherType=jobacct_gather/linux

SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=5
SelectType=select/cons_tres
SelectTypeParameters={select}
EnforcePartLimits=ALL
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
MaxArraySize={layout.max_array_size}
MinJobAge={layout.min_job_age_s}
KillWait=10
SlurmdTimeout=30
ReturnToService=2

# the hosts declare more CPUs than the machine has; Slurm must accept the declaration
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin={task}
MpiDefault=none
GresTypes=gpu

"""


ACCOUNTING = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost={address}
AccountingStoragePort={port}
# not a password: for slurmdbd Slurm takes the munge socket from here and ignores AuthInfo
AccountingStoragePass={folder.munge_socket}
"""
NO_ACCOUNTING = "AccountingStorageType=accounting_storage/none\n"


def slurm_conf(layout: Layout, folder: StateFolder, head: str) -> str:
    """Return slurm.conf; `head` is the machine's short host name, which slurmctld compares with its own."""
    top = SLURM_CONF.format(
        head=head,
        address=HEAD_ADDRESS,
        folder=folder,
        layout=layout,
        control_port=CONTROL_PORT,
        host_port=HOST_PORT,
        accounting=_accounting(layout, folder),
        select="CR_Core_Memory" if layout.limits_memory else "CR_Core",
        task="task/cgroup" if layout.limits_memory else "task/none",
    )
    # Slurm then accepts jobs of users with an association only (lab/services/database.py)
    enforced = "" if layout.max_submit_jobs is None else "AccountingStorageEnforce=limits\n"
    # without a default, a job that asks for no memory would get all of its hosts' memory
    memory = f"DefMemPerCPU={MEMORY_MB // MOST_CPUS}\n" if layout.limits_memory else ""
    return top + enforced + memory + "\n".join([*(_node(host) for host in layout.hosts), *_partitions(layout)]) + "\n"


def _accounting(layout: Layout, folder: StateFolder) -> str:
    if not layout.has_accounting:
        return NO_ACCOUNTING
    return ACCOUNTING.format(address=HEAD_ADDRESS, port=ACCOUNTING_PORT, folder=folder)


def _node(host: Host) -> str:
    gres = f" Gres=gpu:{host.gpus}" if host.gpus else ""
    return (
        f"NodeName={host.name} NodeHostname={host.name} NodeAddr={host.address} CPUs={host.cpus}"
        f" RealMemory={MEMORY_MB}{gres} Feature={','.join(host.features)} State=UNKNOWN"
    )


def _partitions(layout: Layout) -> list[str]:
    gpu = ",".join(host.name for host in layout.hosts if host.gpus)
    knl = ",".join(host.name for host in layout.hosts if not host.gpus)
    limits = "DefaultTime=1:00:00 MaxTime=1-00:00:00 State=UP"
    lines = []
    if gpu:
        low = f"Nodes={gpu} PriorityTier=1 {limits}"
        lines += [f"PartitionName=gpu Default=YES PreemptMode=requeue {low}"]
        lines += [f"PartitionName=grace PreemptMode=requeue GraceTime={GRACE_S} {low}"]
        lines += [f"PartitionName=cancel PreemptMode=cancel GraceTime={GRACE_S} {low}"]
        lines += [f"PartitionName=urgent Nodes={gpu} PriorityTier=10 PreemptMode=off {limits}"]
    if knl:
        lines += [f"PartitionName=knl Nodes={knl}{'' if gpu else ' Default=YES'} {limits}"]
    return lines


def slurmdbd_conf(folder: StateFolder, password: str) -> str:
    """Return slurmdbd.conf, which contains the database's password: only root may read it."""
    return f"""\
AuthType=auth/munge
AuthInfo=socket={folder.munge_socket}
DbdHost=localhost
DbdAddr={HEAD_ADDRESS}
DbdPort={ACCOUNTING_PORT}
SlurmUser=root
PidFile={folder.root}/run/slurmdbd.pid
LogFile={folder.root}/log/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={DATABASE_PORT}
StorageLoc=slurm
StorageUser=slurm
StoragePass={password}
"""


def gres_conf(layout: Layout, folder: StateFolder) -> str:
    """Return gres.conf; all hosts share the same fake devices, which no process opens."""
    gpu = ",".join(host.name for host in layout.hosts if host.gpus)
    return f"NodeName={gpu} Name=gpu File={folder.root}/dev/gpu[0-{GPUS_PER_HOST - 1}]\n" if gpu else ""


def cgroup_conf(layout: Layout, *, unified: bool) -> str:
    """Return cgroup.conf: the version of cgroups, without which slurmd does not start, and the limit of memory."""
    version = (
        "CgroupPlugin=cgroup/v2\nIgnoreSystemd=yes\n" if unified else "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n"
    )
    return version + ("ConstrainRAMSpace=yes\n" if layout.limits_memory else "")


def task_prolog() -> str:
    """Return the script that Slurm runs before every task; it makes gloo use eth0."""
    return '#!/bin/sh\necho "export GLOO_SOCKET_IFNAME=${GLOO_SOCKET_IFNAME:-eth0}"\n'


def prolog(folder: StateFolder) -> str:
    """Return the script that Slurm runs on a host before every job; it fails on the hosts that a file names."""
    return f'#!/bin/sh\n! grep -qsx "$SLURMD_NODENAME" {folder.failing_prologs}\n'


def mariadb_conf(folder: StateFolder) -> str:
    """Return the configuration of MariaDB: small, quick to start, reachable from this machine only."""
    return f"""\
[mariadbd]
user=mysql
datadir={folder.database}
socket={folder.database}/socket
pid-file={folder.database}/mariadbd.pid
bind-address=127.0.0.1
port={DATABASE_PORT}
skip-name-resolve
init-file={folder.root}/accounts.sql
innodb_buffer_pool_size=64M
innodb_log_file_size=16M
innodb_lock_wait_timeout=900
innodb_flush_log_at_trx_commit=2
"""


def accounts_sql(password: str) -> str:
    """Return the SQL that MariaDB runs at every start; each statement must be on one line."""
    return f"""\
CREATE DATABASE IF NOT EXISTS slurm;
CREATE OR REPLACE USER slurm@'127.0.0.1' IDENTIFIED BY '{password}';
GRANT ALL ON slurm.* TO slurm@'127.0.0.1';
"""
