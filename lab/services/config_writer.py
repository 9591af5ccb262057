"""Put the configuration into the state folder, and tell whether Slurm has to read it again."""

import os
import secrets
import shutil
import socket
import stat
from pathlib import Path

from lab.command import SEARCH_PATH
from lab.layout import GPUS_PER_HOST, Layout
from lab.services import config_files as configuration
from lab.state_folder import Folder

DAEMONS = ("munged", "mariadbd", "slurmdbd", "slurmctld", "slurmd")
NULL_DEVICE = os.makedev(1, 3)


def write(layout: Layout, folder: Folder) -> bool:
    """Write all files; return whether slurm.conf changed under a running slurmctld's feet."""
    _keep(folder.root / "munge" / "key", secrets.token_bytes(128))
    password = _keep(folder.root / "database-password", secrets.token_hex(16).encode()).decode()
    head = socket.gethostname().split(".")[0]
    _put(folder.root / "gres.conf", configuration.gres_conf(layout, folder))
    unified = Path("/sys/fs/cgroup/cgroup.controllers").exists()
    _put(folder.root / "cgroup.conf", configuration.cgroup_conf(unified=unified))
    _put(folder.root / "task-prolog", configuration.task_prolog(), mode=0o755)
    _put(folder.root / "slurmdbd.conf", configuration.slurmdbd_conf(folder, password), mode=0o600)
    _put(folder.root / "mariadb.conf", configuration.mariadb_conf(folder))
    _put(folder.root / "accounts.sql", configuration.accounts_sql(password), mode=0o600, owner="mysql")
    _make_stand_ins(folder)
    _link_programs(folder)
    return _put(folder.slurm_conf, configuration.slurm_conf(layout, folder, head))


def _keep(path: Path, fresh: bytes) -> bytes:
    if not path.exists() or not path.stat().st_size:
        path.touch(mode=0o600)
        path.write_bytes(fresh)
    return path.read_bytes()


def _put(path: Path, text: str, *, mode: int = 0o644, owner: str = "root") -> bool:
    if path.exists() and path.read_text() == text:
        return False
    path.touch(mode=0o600)  # before the first byte: some of them hold a password
    path.write_text(text)
    shutil.chown(path, owner)
    path.chmod(mode)
    return True


def _make_stand_ins(folder: Folder) -> None:
    for i in range(GPUS_PER_HOST):
        device = folder.root / "dev" / f"gpu{i}"
        if not device.exists():
            os.mknod(device, stat.S_IFCHR | 0o666, NULL_DEVICE)


def _link_programs(folder: Folder) -> None:
    for name in DAEMONS:
        link, program = Path(folder.program(name)), shutil.which(name, path=SEARCH_PATH)
        if program and not link.is_symlink():
            link.symlink_to(program)
