"""The settings of one process of the service, protected from other processes of the same user.

The environment of a process is readable in /proc for all processes of its user, so also for the jobs on this machine.
`bigbatch up` therefore sends the secret settings through a socket. The kernel hides the memory and the environment of a
process that asks for it; the program that starts next (execve) must ask again.
"""

import ctypes
import json
import os
import socket
import sys
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from contract.private_files import make_private
from contract.refusal import refuse
from contract.settings import Settings, setting_errors
from contract.user_home import NoHomeError, name_account, settle_account

SETTINGS_SOCKET = "BIGBATCH_SETTINGS_SOCKET"  # environment variable: the descriptor of the socket with the secrets
_PR_SET_DUMPABLE = 4


def read_process_settings() -> Settings:
    """Hide this process's memory, close the home folder to other users, and return the settings of this process.

    Settings from the parent's socket go before the environment's. End the process if one is wrong, or if nothing says
    where the home is.
    """
    hide_memory()
    try:
        settings = Settings(**_received())
        make_private(settings.home_folder())
        settle_account(settings.home_folder())
        name_account()
    except ValidationError as error:
        refuse(setting_errors(error))
    except NoHomeError as error:
        refuse(str(error))
    return settings


def hide_memory() -> None:
    """Forbid other processes of the user to read this process's environment and memory: on Linux, not for root.

    The process writes no core dump afterwards, and the user cannot attach a debugger to it.
    """
    if sys.platform == "linux" and ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_DUMPABLE) failed")


def send_settings(connection: socket.socket, settings: Mapping[str, str]) -> None:
    """Send settings, by the names of their fields, to the process that has the other end of the socket."""
    connection.sendall(json.dumps(dict(settings)).encode())
    connection.shutdown(socket.SHUT_WR)


def _received() -> dict[str, Any]:
    """Return the settings from the parent's socket; empty without a socket."""
    descriptor = os.environ.pop(SETTINGS_SOCKET, "")
    if not descriptor:
        return {}
    with socket.socket(fileno=int(descriptor)) as connection:
        received: dict[str, Any] = json.loads(b"".join(iter(lambda: connection.recv(65_536), b"")))
    return received
