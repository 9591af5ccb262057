"""The address of a home's service, in a file of the home: a client that knows the home alone finds the service.

The API locks the file while it runs, so that a client ignores the file of a service that was killed. The file must
belong to the client's user: a client sends its token to the address.
"""

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from contract.access.service_record import lock_own_file
from contract.user_home import DEFAULT_HOME, NoHomeError, expand_user

NAME = "address"
ALL_INTERFACES = {"0.0.0.0", "::", ""}


@contextmanager
def recorded_address(home: Path, host: str, port: int) -> Iterator[None]:
    """Write the address into the home inside the context; without a place for it clients need BIGBATCH_URL."""
    path = home / NAME
    try:
        descriptor = lock_own_file(path)
    except OSError:  # another API process of this home has its address there
        yield
        return
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, json.dumps({"machine": socket.gethostname(), "url": local_url(host, port)}).encode())
        yield
    finally:
        os.close(descriptor)  # the file stays: without the lock no client heeds it


def address_of_home(home: str) -> str:
    """Return the address of the service that runs on a home ("": the default one) for this user; "" without one."""
    with suppress(OSError, NoHomeError, ValueError, KeyError, TypeError):
        path = expand_user(Path(home or DEFAULT_HOME), "BIGBATCH_HOME") / NAME
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            if os.fstat(descriptor).st_uid == os.geteuid() and _is_locked(descriptor):
                found = json.loads(os.read(descriptor, 1000))
                is_here = found["machine"] == socket.gethostname()  # machines may share a home
                return str(found["url"]) if is_here else ""
        finally:
            os.close(descriptor)
    return ""


def local_url(host: str, port: int) -> str:
    """Return the URL by which this machine reaches a service that listens on the host."""
    host = "127.0.0.1" if host in ALL_INTERFACES else host
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _is_locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
