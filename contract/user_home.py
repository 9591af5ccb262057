"""The home folder and the name of the user, which an account of a container may lack."""

import getpass
import os
from pathlib import Path

DEFAULT_HOME = "~/.bigbatch"  # of a service


class NoHomeError(Exception):
    """The path begins with ~, and nothing says what that is; the message says what to set."""


def expand_user(path: Path, instead: str) -> Path:
    """Return the path with the user's home folder in place of ~; raise NoHomeError without one.

    `instead`: what the user may set in place of HOME.
    """
    try:
        return path.expanduser()
    except RuntimeError as error:  # pathlib's
        name = path.parts[0].removeprefix("~")
        nobody = f"the user id {os.getuid()} has no entry in the password database and HOME is not set"
        problem = f"there is no user {name}" if name else nobody
        advice = f"set {instead}" if name else f"set HOME or {instead}"
        raise NoHomeError(f"{problem}, so the folder {path} is not known: {advice}") from error


def settle_account(home: Path) -> None:
    """Let this process, and those that it starts, keep caches and records in `home` if the user has no home of its own.

    HOME stays unset: a folder of the service is private, and the user's home is not.
    """
    try:
        expand_user(Path("~"), "BIGBATCH_HOME")
    except NoHomeError:
        os.environ.setdefault("XDG_CACHE_HOME", str(home / ".cache"))
        os.environ.setdefault("XDG_STATE_HOME", str(home / ".local" / "state"))


def name_account() -> None:
    """Let this process, and those that it starts, have a name if the user id has none: libraries of jobs ask for it."""
    if user_name() is None:
        os.environ["LOGNAME"] = str(os.getuid())


def user_name() -> str | None:
    """Return the name of this process's user; None for a user id without a name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # OSError: since Python 3.13
        return None
