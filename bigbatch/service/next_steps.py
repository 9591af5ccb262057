"""What a started service prints: its home, other homes with experiments, and the commands of other terminals."""

import os
import shlex
import sys
from pathlib import Path
from shutil import which

from bigbatch.connection import DEFAULT_URL
from contract.settings import Settings

CHECKOUT_HOME = ".bigbatch"  # the home of `make run`, in the folder of the checkout


def print_home(home: Path) -> None:
    """Print where the experiments are stored, and which other homes have experiments that this service does not show.

    `make run` and a plain `bigbatch up` have different homes.
    """
    print(f"Its experiments are in {home}", flush=True)
    for other in _other_homes(home):
        print(f"Other experiments are in {other}; to see them: bigbatch up --home {_shown(other)}", flush=True)


def print_commands_of_other_terminals(url: str, home: Path) -> None:
    """Print the commands by which another terminal gets `bigbatch`, the service and its home; nothing without need."""
    commands = _activation()
    if home != _default_home():
        commands.append(f"export BIGBATCH_HOME={shlex.quote(str(home))}")
    if url != DEFAULT_URL:
        commands.append(f"export BIGBATCH_URL={url}")
    if commands:
        print(f"In other terminals: {'; '.join(commands)}", flush=True)


def print_restart(home: Path) -> None:
    """Print the commands that start the service again with its experiments."""
    option = "" if home == _default_home() else f" --home {_shown(home)}"
    print(f"To start the service again: {'; '.join([*_activation(), f'bigbatch up{option}'])}", flush=True)


def _activation() -> list[str]:
    """Return the command that puts `bigbatch` on PATH; empty if it is there."""
    activate = Path(sys.prefix) / "bin" / "activate"
    is_needed = which("bigbatch") is None and activate.exists()
    return [f". {shlex.quote(os.path.relpath(activate))}"] if is_needed else []


def _other_homes(home: Path) -> list[Path]:
    candidates = [Path.cwd() / CHECKOUT_HOME, Path(sys.prefix).parent / CHECKOUT_HOME, _default_home()]
    found = dict.fromkeys(path for path in candidates if (path / "bigbatch.db").exists())
    return [path for path in found if path.resolve() != home.resolve()]


def _default_home() -> Path:
    return Path(os.path.expanduser(Settings.model_fields["home"].default))


def _shown(home: Path) -> str:
    """Return a home as a command line has it, relative to the current folder if the home is in it."""
    is_near = home.is_relative_to(Path.cwd())
    return shlex.quote(str(home.relative_to(Path.cwd()) if is_near else home))
