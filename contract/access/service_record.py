"""The record of a running service: address and token, so that its user's clients on the same machine find the token.

A record is a file that only its user can read. The service locks the file while it runs. A client ignores a record
without a lock: the service has ended, and another user's program may listen on its port.
"""

import errno
import fcntl
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from contract.user_home import NoHomeError, expand_user

LOOPBACK = {"localhost", "127.0.0.1", "::1"}
LOCK_WAIT_S = 2.0  # a client holds a shared lock while it reads, for less than a millisecond
LOCK_RETRY_S = 0.01


@contextmanager
def recorded_service(host: str, port: int, token: str) -> Iterator[None]:
    """Record the service inside the context; without a place for the record, print why and continue."""
    try:
        path = _path(host, port)
    except NoHomeError as error:
        print(f"clients need BIGBATCH_TOKEN: {error}", file=sys.stderr, flush=True)
        yield
        return
    try:
        descriptor = lock_own_file(path)
    except OSError as error:
        print(f"clients need BIGBATCH_TOKEN: cannot write '{path}' ({error.strerror})", file=sys.stderr, flush=True)
        yield
        return
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, token.encode())
        yield
    finally:
        os.close(descriptor)  # the file stays: another service may wait for its lock


def token_of_local_service(host: str, port: int) -> str:
    """Return the token of this user's service that runs at the address on this machine; "" without one."""
    if host not in LOOPBACK:
        return ""
    with suppress(OSError, NoHomeError):
        descriptor = os.open(_path(host, port), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:  # the service holds the lock, so it runs
            return os.read(descriptor, 1000).decode()
        finally:
            os.close(descriptor)
    return ""


def _path(host: str, port: int) -> Path:
    """Return the record's path; machines may share the user's home, so the name includes the machine."""
    states = expand_user(Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state"), "XDG_STATE_HOME")
    folder = states / "bigbatch" / "services"
    return folder / f"{socket.gethostname()}-{host}-{port}"


def lock_own_file(path: Path) -> int:
    """Open a file of this user, or a new one, with an exclusive lock; raise OSError after LOCK_WAIT_S."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        if os.fstat(descriptor).st_uid != os.geteuid():  # who made it could read the token
            raise PermissionError(errno.EPERM, "the file belongs to another user")
        os.fchmod(descriptor, 0o600)
        _lock(descriptor)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _lock(descriptor: int) -> None:
    until = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise
        time.sleep(LOCK_RETRY_S)
