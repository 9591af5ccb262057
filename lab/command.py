"""Run one program to its end, or say why it failed."""

import os
import subprocess

from lab.errors import LabError

# Debian keeps the daemons, ip and tc out of ordinary users' way
SEARCH_PATH = ":".join([os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"])


def environment(**more: str) -> dict[str, str]:
    """Return a clean environment: what a daemon inherits from a developer's shell must not matter."""
    return {"PATH": SEARCH_PATH, "LC_ALL": "C", **more}


def run(*words: str, slurm_conf: str = "") -> str:
    """Return what the program printed; raise LabError with its own words if it failed."""
    done = _run(words, slurm_conf)
    if done.returncode:
        raise LabError(f"{' '.join(words)}: {(done.stderr or done.stdout).strip() or f'exit {done.returncode}'}")
    return done.stdout


def works(*words: str, slurm_conf: str = "") -> bool:
    """Tell whether the program succeeds."""
    return _run(words, slurm_conf).returncode == 0


def _run(words: tuple[str, ...], slurm_conf: str) -> subprocess.CompletedProcess[str]:
    env = environment(**({"SLURM_CONF": slurm_conf} if slurm_conf else {}))
    try:
        return subprocess.run(words, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        return subprocess.CompletedProcess(words, 127, "", "no such program")
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, 124, "", "no answer within 60 s")
