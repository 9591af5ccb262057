"""The bash script that sets up the environment of a rank and then becomes the rank's program.

Each part that fails ends the rank with SETUP_FAILED and one line that names the part. Order: working folder, setup
lines, modules, conda or venv, variables. The command `module` exists for the setup lines already (`module use`).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

SETUP_FAILED = 125  # exit status
_FAIL = """\
bigbatch_fail() { printf 'bigbatch: %s on %s\\n' "$1" "${SLURMD_NODENAME:-$HOSTNAME}" >&2; exit 125; }
"""
_MODULES = """\
if ! type module >/dev/null 2>&1; then
  for file in /etc/profile.d/lmod.sh /etc/profile.d/z00_lmod.sh /etc/profile.d/modules.sh \
/usr/share/lmod/lmod/init/bash /usr/share/modules/init/bash; do
    if [ -r "$file" ]; then . "$file"; break; fi
  done
fi
"""
_NO_MODULES = "type module >/dev/null 2>&1 || bigbatch_fail 'there is no command `module`'"
_USES_MODULES = re.compile(r"\b(module|ml)\b")
_CONDA = """\
if ! type conda >/dev/null 2>&1; then
  for place in "${CONDA_EXE%/bin/conda}" "$HOME/miniforge3" "$HOME/mambaforge" "$HOME/miniconda3" "$HOME/anaconda3" \
/opt/conda /opt/miniconda3; do
    if [ -x "$place/bin/conda" ]; then PATH="$place/bin:$PATH"; break; fi
  done
fi
type conda >/dev/null 2>&1 || bigbatch_fail 'there is no command `conda`'
eval "$(conda shell.bash hook)" || bigbatch_fail '`conda shell.bash hook` failed'
"""
_APPTAINER = """\
container=$(command -v apptainer || command -v singularity) || bigbatch_fail 'there is no command `apptainer`'
"""


def render_setup(
    environment: Mapping[str, Any],
    *,
    working_folder: str,
    variables: Mapping[str, str],
    python_path: str | None,
    path: str | None = None,
    recorder: Sequence[str] = (),
) -> str:
    """Return the script; its arguments are the program's words.

    `python_path` becomes the start of PYTHONPATH, and `path` that of PATH.

    `recorder`: words that are started beside the program, in the same environment and container.
    """
    lines = [
        _FAIL,
        f"cd {shlex.quote(working_folder)} || bigbatch_fail {_quoted('there is no folder', working_folder)}",
    ]
    setup, modules = environment.get("setup") or [], environment.get("modules") or []
    if modules or any(_USES_MODULES.search(line) for line in setup):
        lines.append(_MODULES)
    lines += _setup_lines(setup)
    lines += _module_lines(modules)
    lines += _conda_lines(environment.get("conda"))
    lines += _venv_lines(environment.get("venv"))
    lines += [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    if path:
        lines.append(f'export PATH={shlex.quote(path)}:"$PATH"')
    if python_path:
        lines.append(f"export PYTHONPATH={shlex.quote(python_path)}" + '"${PYTHONPATH:+:$PYTHONPATH}"')
    lines += _start_lines(environment.get("container"), recorder)
    return "\n".join(lines) + "\n"


def _setup_lines(setup: list[str]) -> Iterator[str]:
    """Yield the user's lines: the first command that fails ends the rank, and is named."""
    if setup:
        yield "set -eE"
        yield "trap 'bigbatch_fail \"the setup line \\`$BASH_COMMAND\\` failed with status $?\"' ERR"
        yield from setup
        yield "trap - ERR"
        yield "set +eE"


def _module_lines(modules: list[str]) -> Iterator[str]:
    if modules:
        yield _NO_MODULES
    for name in modules:
        failure = _quoted("`module load` failed for", name)
        yield f"module load {shlex.quote(name)} || bigbatch_fail {failure}"


def _conda_lines(name: str | None) -> Iterator[str]:
    if name:
        yield _CONDA
        yield f"conda activate {shlex.quote(name)} || bigbatch_fail {_quoted('there is no conda environment', name)}"


def _venv_lines(folder: str | None) -> Iterator[str]:
    if folder:
        place = shlex.quote(folder)
        missing = _quoted("there is no Python virtual environment in", folder)
        yield f"[ -x {place}/bin/python ] || bigbatch_fail {missing}"
        yield f'export VIRTUAL_ENV={place} PATH={place}/bin:"$PATH"; unset PYTHONHOME'


def _quoted(text: str, name: str) -> str:
    return shlex.quote(f"{text} {name}")


def _start_lines(container: Mapping[str, Any] | None, recorder: Sequence[str]) -> Iterator[str]:
    """Yield the lines that become the program; in a container the first argument is the container's program."""
    is_contained = bool(container and container.get("kind") == "apptainer")
    program = '"$container" ' if is_contained else ""
    if is_contained:
        yield _APPTAINER
    if recorder:  # a subshell, so that the program has no child that it did not start
        yield f"({program}{shlex.join(recorder)} </dev/null >/dev/null 2>&1 &)"
    yield f'exec {program}"$@"'
