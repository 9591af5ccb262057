"""Owners: the accounts that may put files where the service finds programs that it executes.

From the root of the file system down to a folder of the service, each folder and link must belong to the service's
user, to root or to an account that BIGBATCH_TRUSTED names, and nobody else may write into it. A folder with the sticky
bit (/tmp) may be writable for all as long as it is above a folder of the service: what is ours in it stays ours. A
group may write if it is root's, if BIGBATCH_TRUSTED names it, or if it is the user's own: it has no other member, and
it has the user's name or number or lists the user.
"""

import errno
import grp
import os
import pwd
import stat
import struct
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

ROOT = 0
GROUP, EVERYBODY = "@", "*"  # in BIGBATCH_TRUSTED before the name of a group, and in the place of all names
KNOWN_S = 300.0  # so long the members of a group need not be asked for again
MAX_LINKS = 40  # in a path, as the kernel allows
_ACL = "system.posix_acl_access"
_ACL_ENTRY = struct.Struct("<HHI")
_ACL_USER, _ACL_GROUP_OF_FILE, _ACL_GROUP, _ACL_MASK, _ACL_WRITE = 0x02, 0x04, 0x08, 0x10, 0x02


class UnsafeFolderError(PermissionError):
    """Somebody else can put files into a folder of the service; the message says who and what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(errno.EPERM, message)

    def __str__(self) -> str:
        return str(self.strerror)


class _Writers(NamedTuple):
    """Who may write into a folder besides its owner."""

    users: Sequence[int]
    groups: Sequence[int]
    everybody: bool


class Examined(NamedTuple):
    """A folder whose content this process has examined; another folder that gets its name is another one."""

    path: Path
    device: int
    inode: int

    @classmethod
    def of(cls, folder: Path) -> "Examined":
        """Return the folder that has this name now; may raise OSError."""
        status = folder.lstat()
        return cls(folder, status.st_dev, status.st_ino)


@dataclass(frozen=True)
class Owners:
    """The accounts that are trusted besides root and the user of this process: user ids and group ids."""

    users: frozenset[int] = frozenset()
    groups: frozenset[int] = frozenset()
    everybody: bool = False  # nothing is examined: on a file system whose modes say nothing, as AFS or a Windows drive

    @classmethod
    def of(cls, names: Iterable[str]) -> "Owners":
        """Return the accounts with these names or numbers, groups with an @ before, * for all; raise ValueError."""
        users, groups = set[int](), set[int]()
        for name in names:
            if name == EVERYBODY:
                return cls(everybody=True)
            try:
                if name.startswith(GROUP):
                    groups.add(int(name[1:]) if name[1:].isdecimal() else grp.getgrnam(name[1:]).gr_gid)
                else:
                    users.add(int(name) if name.isdecimal() else pwd.getpwnam(name).pw_uid)
            except KeyError:
                kind = "group" if name.startswith(GROUP) else "user"
                raise ValueError(f"there is no {kind} {name.removeprefix(GROUP)} on this machine") from None
        return cls(frozenset(users), frozenset(groups))

    def check(self, folder: Path) -> None:
        """Raise UnsafeFolderError if others can put files into the folder, as far as it exists; or another OSError."""
        for path, status, is_above in () if self.everybody else _steps(folder.absolute()):
            if danger := self.find_danger(path, status, is_above=is_above):
                raise UnsafeFolderError(f"{path} {danger}")

    def find_danger(self, path: Path, status: os.stat_result, *, is_above: bool = False) -> str | None:
        """Return how others can change a file or folder, or what is in it, and what to do; None if they cannot.

        `is_above`: the folder is above one of the service's, and has nothing else that the service executes.
        """
        if self.everybody:
            return None
        if status.st_uid not in (ROOT, os.geteuid(), *self.users) and not _is_unmapped(status.st_uid):
            return f"belongs to the user {user_name(status.st_uid)}"
        if stat.S_ISLNK(status.st_mode) or (is_above and status.st_mode & stat.S_ISVTX):
            return None
        writers = _writers(path, status)
        if writers.everybody:
            return "can be written by every user: run chmod o-w on it"
        for user in writers.users:
            if user not in (ROOT, os.geteuid(), *self.users):
                return f"can be written by the user {user_name(user)}: run setfacl -x u:{user_name(user)} on it"
        for group in writers.groups:
            if not self._is_ours(group):
                return f"can be written by the group {group_name(group)}: run chmod g-w on it"
        return None

    def _is_ours(self, group: int) -> bool:
        return group == ROOT or group in self.groups or _is_own(group, os.geteuid(), int(time.monotonic() // KNOWN_S))


OURS = Owners()  # root and the user of this process alone


@lru_cache(maxsize=256)
def _is_own(group: int, user: int, period: int) -> bool:
    """Return whether nobody but the user and root belongs to a group, as far as the system names its accounts.

    `period`: the answer holds for it, because a directory service takes seconds to list tens of thousands of accounts,
    and a tree has many folders. A service that lists none does not tell whose primary group this is.
    """
    me = user_name(user)
    try:
        found = grp.getgrgid(group)
    except KeyError:  # as in a container whose accounts have no names
        return group == user
    listed, mine = set(found.gr_mem), {me, user_name(ROOT)}
    if listed - mine or not (me in listed or group == user or found.gr_name == me):
        return False
    return all(account.pw_name in mine for account in pwd.getpwall() if account.pw_gid == group)


def _steps(path: Path) -> Iterator[tuple[Path, os.stat_result, bool]]:
    """Yield each folder on the way to a path, whether it is above the path, and each link; end at what is not there."""
    at, ahead, links = Path("/"), list(path.parts[1:]), 0
    yield at, at.lstat(), bool(ahead)
    while ahead:
        name = ahead.pop(0)
        if name == "..":
            at = at.parent
            continue
        try:
            status = (at / name).lstat()
        except FileNotFoundError:
            return
        yield at / name, status, bool(ahead)
        if not stat.S_ISLNK(status.st_mode):
            at = at / name
            continue
        links += 1
        if links > MAX_LINKS:
            raise OSError(errno.ELOOP, "too many links", str(path))
        target = Path(os.readlink(at / name))
        at = Path("/") if target.is_absolute() else at
        ahead[:0] = [part for part in target.parts if part != "/"]


def _writers(path: Path, status: os.stat_result) -> _Writers:
    """Return who may write by the mode; with an access control list the group's bits are the mask of its entries."""
    everybody = bool(status.st_mode & stat.S_IWOTH)
    if not status.st_mode & stat.S_IWGRP:
        return _Writers((), (), everybody)
    entries = _access_list(path)
    if not entries:
        return _Writers((), (status.st_gid,), everybody)
    users = [number for tag, number in entries if tag == _ACL_USER]
    groups = [
        status.st_gid if tag == _ACL_GROUP_OF_FILE else number
        for tag, number in entries
        if tag in (_ACL_GROUP_OF_FILE, _ACL_GROUP)
    ]
    return _Writers(users, groups, everybody)


def _access_list(path: Path) -> list[tuple[int, int]]:
    """Return tag and number of those entries of the access control list that may write; empty without a list."""
    if not hasattr(os, "getxattr"):  # not Linux
        return []
    try:
        text = os.getxattr(path, _ACL, follow_symlinks=False)
    except OSError:
        return []
    entries = _ACL_ENTRY.iter_unpack(text[4:])
    return [(tag, number) for tag, permissions, number in entries if permissions & _ACL_WRITE and tag != _ACL_MASK]


def _is_unmapped(user: int) -> bool:
    """Return whether the number stands for every account outside this user namespace, where root is one of them.

    A container of Apptainer knows its own user alone, and shows the folders of the host's root so.
    """
    try:
        overflow = int(Path("/proc/sys/kernel/overflowuid").read_text())
        ranges = [tuple(map(int, line.split())) for line in Path("/proc/self/uid_map").read_text().splitlines()]
    except (OSError, ValueError):
        return False
    inside = {number for first, _, length in ranges for number in (ROOT, overflow) if first <= number < first + length}
    return user == overflow and not inside


def user_name(user: int) -> str:
    """Return the name of an account, its number if it has none."""
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


def group_name(group: int) -> str:
    """Return the name of a group, its number if it has none."""
    try:
        return grp.getgrgid(group).gr_name
    except KeyError:
        return str(group)
