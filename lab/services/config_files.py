"""The texts of all configuration files, as functions of the layout and the state folder."""

from lab.instance import PORTS_UP
from lab.layout import GPUS_PER_HOST, HEAD_ADDRESS, MEMORY_MB, Host, Layout
from lab.state_folder import Folder

# Not Slurm's and MariaDB's own numbers, so that one that is installed for real can start at any time; and below those
# that a system hands to whoever connects somewhere, who may have one of them just as the lab comes up
CONTROL_PORT, HOST_PORT, ACCOUNTING_PORT, DATABASE_PORT = (port + PORTS_UP for port in (26817, 26818, 26819, 23306))

SLURM_CONF = """\
ClusterName=lab
SlurmctldHost={head}({address})
SlurmUser=root
SlurmctldPort={control_port}
SlurmdPort={host_port}
AuthType=auth/munge
# a job that was preempted or requeued waits until its old credential has expired: 120 s if nothing is said
AuthInfo=socket={folder.munge_socket},cred_expire=20
StateSaveLocation={folder.root}/slurmctld
SlurmdSpoolDir={folder.root}/slurmd/%n
SlurmctldPidFile={folder.root}/run/slurmctld.pid
SlurmdPidFile={folder.root}/run/slurmd-%n.pid
SlurmctldLogFile={folder.root}/log/slurmctld.log
SlurmdLogFile={folder.root}/log/slurmd-%n.log
TaskProlog={folder.root}/task-prolog

AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost={address}
AccountingStoragePort={accounting_port}
# no password: to slurmdbd Slurm hands this on as the munge socket, and does not look at AuthInfo
AccountingStoragePass={folder.munge_socket}
JobAcctGatherType=jobacct_gather/linux

SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=5
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
EnforcePartLimits=ALL
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
MaxArraySize={layout.max_array_size}
MinJobAge={layout.min_job_age_s}
KillWait=10
SlurmdTimeout=30
ReturnToService=2

# the hosts claim more CPUs than the machine has, and Slurm shall believe them
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
GresTypes=gpu

"""


def slurm_conf(layout: Layout, folder: Folder, head: str) -> str:
    """Return slurm.conf; `head` is the machine's own short name, by which slurmctld knows itself."""
    top = SLURM_CONF.format(
        head=head,
        address=HEAD_ADDRESS,
        folder=folder,
        layout=layout,
        control_port=CONTROL_PORT,
        host_port=HOST_PORT,
        accounting_port=ACCOUNTING_PORT,
    )
    return top + "\n".join([*(_node(host) for host in layout.hosts), *_partitions(layout)]) + "\n"


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
        lines += [f"PartitionName=gpu Nodes={gpu} Default=YES PriorityTier=1 PreemptMode=requeue {limits}"]
        lines += [f"PartitionName=urgent Nodes={gpu} PriorityTier=10 PreemptMode=off {limits}"]
    if knl:
        lines += [f"PartitionName=knl Nodes={knl}{'' if gpu else ' Default=YES'} {limits}"]
    return lines


def slurmdbd_conf(folder: Folder, password: str) -> str:
    """Return slurmdbd.conf, which holds the database's password: nobody but root may read it."""
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


def gres_conf(layout: Layout, folder: Folder) -> str:
    """Return gres.conf: all hosts share the same stand-in devices, which is fine because nobody opens them."""
    gpu = ",".join(host.name for host in layout.hosts if host.gpus)
    return f"NodeName={gpu} Name=gpu File={folder.root}/dev/gpu[0-{GPUS_PER_HOST - 1}]\n" if gpu else ""


def cgroup_conf(*, unified: bool) -> str:
    """Return cgroup.conf. Nothing is confined, but slurmd will not start without knowing which cgroups there are."""
    return "CgroupPlugin=cgroup/v2\nIgnoreSystemd=yes\n" if unified else "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n"


def task_prolog() -> str:
    """Return what Slurm runs before every task: gloo must not choose among interfaces by itself."""
    return '#!/bin/sh\necho "export GLOO_SOCKET_IFNAME=${GLOO_SOCKET_IFNAME:-eth0}"\n'


def mariadb_conf(folder: Folder) -> str:
    """Return the database's own configuration: small, quick to start, on this machine only."""
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
    """Return what the database runs at every start; it wants each statement on one line."""
    return f"""\
CREATE DATABASE IF NOT EXISTS slurm;
CREATE OR REPLACE USER slurm@'127.0.0.1' IDENTIFIED BY '{password}';
GRANT ALL ON slurm.* TO slurm@'127.0.0.1';
"""
