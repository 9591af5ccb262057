"""Write the configuration files into the state folder."""

import os
import secrets
import shutil
import socket
import stat
from pathlib import Path

from lab.command import SEARCH_PATH
from lab.layout import GPUS_PER_HOST, Layout
from lab.services import config_files
from lab.state_folder import StateFolder

DAEMONS = ("munged", "mariadbd", "slurmdbd", "slurmctld", "slurmd")
NULL_DEVICE = os.makedev(1, 3)


def write(layout: Layout, folder: StateFolder) -> bool:
    """Write all files; return whether slurm.conf changed, in which case a running slurmctld must read it again."""
    _create_secret(folder.root / "munge" / "key", secrets.token_bytes(128))
    password = _create_secret(folder.root / "database-password", secrets.token_hex(16).encode()).decode()
    head = socket.gethostname().split(".")[0]
    _update(folder.root / "gres.conf", config_files.gres_conf(layout, folder))
    unified = Path("/sys/fs/cgroup/cgroup.controllers").exists()
    _update(folder.root / "cgroup.conf", config_files.cgroup_conf(layout, unified=unified))
    _update(folder.root / "task-prolog", config_files.task_prolog(), mode=0o755)
    _update(folder.root / "prolog", config_files.prolog(folder), mode=0o755)
    _update(folder.root / "slurmdbd.conf", config_files.slurmdbd_conf(folder, password), mode=0o600)
    _update(folder.root / "mariadb.conf", config_files.mariadb_conf(folder))
    _update(folder.root / "accounts.sql", config_files.accounts_sql(password), mode=0o600, owner="mysql")
    _create_fake_gpus(folder)
    _create_temporary_folders(layout, folder)
    _link_programs(folder)
    return _update(folder.slurm_conf, config_files.slurm_conf(layout, folder, head))


def _create_secret(path: Path, new: bytes) -> bytes:
    """Return the content of the file, and write `new` first if the file is missing or empty."""
    if not path.exists() or not path.stat().st_size:
        path.touch(mode=0o600)
        path.write_bytes(new)
    return path.read_bytes()


def _update(path: Path, text: str, *, mode: int = 0o644, owner: str = "root") -> bool:
    """Write the file if its text differs; return whether it did."""
    if path.exists() and path.read_text() == text:
        return False
    path.touch(mode=0o600)  # before the first byte is written, because some of the files contain a password
    path.write_text(text)
    shutil.chown(path, owner)
    path.chmod(mode)
    return True


def _create_fake_gpus(folder: StateFolder) -> None:
    for i in range(GPUS_PER_HOST):
        device = folder.root / "dev" / f"gpu{i}"
        if not device.exists():
            os.mknod(device, stat.S_IFCHR | 0o666, NULL_DEVICE)


def _create_temporary_folders(layout: Layout, folder: StateFolder) -> None:
    for host in layout.hosts:
        place = folder.root / "tmp" / host.name
        place.mkdir(exist_ok=True)
        place.chmod(0o1777)


def _link_programs(folder: StateFolder) -> None:
    for name in DAEMONS:
        link, program = Path(folder.program(name)), shutil.which(name, path=SEARCH_PATH)
        if program and not link.is_symlink():
            link.symlink_to(program)
