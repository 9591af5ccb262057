"""Run one program to its end."""

import os
import subprocess

from lab.errors import LabError

# On Debian the daemons, ip and tc are outside the default PATH of ordinary users.
SEARCH_PATH = ":".join([os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"])


def clean_environment(**more: str) -> dict[str, str]:
    """Return a minimal environment, so that a daemon does not depend on the shell that starts the lab."""
    return {"PATH": SEARCH_PATH, "LC_ALL": "C", **more}


def run(*words: str, slurm_conf: str = "") -> str:
    """Return the standard output of the program; raise LabError with its error output if the program fails."""
    done = _run(words, slurm_conf)
    if done.returncode:
        raise LabError(f"{' '.join(words)}: {(done.stderr or done.stdout).strip() or f'exit {done.returncode}'}")
    return done.stdout


def succeeds(*words: str, slurm_conf: str = "") -> bool:
    """Return whether the program ends with status 0."""
    return _run(words, slurm_conf).returncode == 0


def _run(words: tuple[str, ...], slurm_conf: str) -> subprocess.CompletedProcess[str]:
    env = clean_environment(**({"SLURM_CONF": slurm_conf} if slurm_conf else {}))
    try:
        return subprocess.run(words, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        return subprocess.CompletedProcess(words, 127, "", "no such program")
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, 124, "", "no answer within 60 s")
