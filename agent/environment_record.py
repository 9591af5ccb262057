"""The record of an attempt's environment: attempts/N.environment.json. contract/folder/environment_record.py reads it.

`python environment_record.py FOLDER ATTEMPT` records the environment that it is run in: rank 0's, after its set-up. The
file imports nothing of the agent, because a container may have another Python.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PROBE_S = 30.0  # for the program's interpreter, on a slow file system
GPU_S = 10.0
MAX_PACKAGES, MAX_VARIABLES, MAX_MODULES = 2_000, 500, 200
MAX_NAME, MAX_VALUE = 200, 2_000  # characters
PYTHON = re.compile(r"python[0-9.]*")
SECRET_NAME = re.compile(
    r"TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|KEY|JWT|AUTH|COOKIE|SESSION|PRIVATE|BEARER|SIGNATURE|WEBHOOK|DSN"
    r"|CONNECTION_STRING|^PGPASS|^BIGBATCH_(DATABASE|BROKER)$",
    re.IGNORECASE,
)
# the forms of tokens of well-known services, JSON web tokens, and private keys
SECRET_VALUE = re.compile(
    r"eyJ[\w-]{10,}\.[\w-]{10,}|\b(gh[pousr]_|github_pat_|glpat-|hf_|sk-|xox[abpr]-|AKIA|ASIA)[\w-]{10,}|-----BEGIN"
)
WITH_PASSWORD = re.compile(r"://[^/\s@]*:[^/\s@]*@")  # an address with a user and a password
# the folders of packages name and version; reading the metadata of each would take a hundred times as long
PROBE = """
import json, os, platform, re, sys
found = {}
for place in sys.path:
    try:
        names = os.listdir(place or ".")
    except OSError:
        continue
    for name in names:
        parts = re.match(r"(.+?)-([^-]+)(?:-py[0-9.]+)?\\.(?:dist|egg)-info$", name)
        if parts:
            found.setdefault(re.sub(r"[-_.]+", "-", parts.group(1)).lower(), parts.group(2))
print(json.dumps({"executable": sys.executable, "version": platform.python_version(),
                  "implementation": platform.python_implementation(), "packages": found}))
"""


def record(folder: Path, attempt: int, environment: Mapping[str, str]) -> None:
    """Write the record of an attempt whose program has this environment; a failure costs the record alone."""
    try:
        spec = json.loads((folder / "spec.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        spec = {}
    document = {"version": 1, "attempt": attempt, "at": time.time(), **describe(spec, without_own(folder, environment))}
    path = folder / "attempts" / f"{attempt}.environment.json"
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(draft, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
        os.replace(draft, path)
    except OSError as error:
        print(f"bigbatch: the environment could not be recorded: {error}", file=sys.stderr, flush=True)


def without_own(folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without what leads into this run's folder: it is no difference between two runs."""
    own = f"{folder}/attempts/bin"
    path = ":".join(place for place in environment.get("PATH", "").split(":") if place != own)
    found = {**environment, **({"PATH": path} if "PATH" in environment else {})}
    if found.get("TRACKIO_DIR") == f"{folder}/trackio":
        del found["TRACKIO_DIR"]
    return found


def describe(spec: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the description of this host and of the environment."""
    interpreter = _probe(interpreter_of(spec, environment), environment)
    packages = interpreter.pop("packages", {}) if interpreter else {}
    modules = [name for name in environment.get("LOADEDMODULES", "").split(":") if name]
    return {
        "host": (environment.get("SLURMD_NODENAME") or socket.gethostname())[:MAX_NAME],
        "system": platform.system(),
        "kernel": platform.release()[:MAX_NAME],
        "machine": platform.machine(),
        "interpreter": interpreter,
        "packages": dict(sorted(packages.items())[:MAX_PACKAGES]),
        "modules": [name[:MAX_NAME] for name in modules[:MAX_MODULES]],
        "container": _container(spec),
        **_accelerator(environment),
        "variables": variables_without_secrets(environment),
    }


def interpreter_of(spec: Mapping[str, Any], environment: Mapping[str, str]) -> str | None:
    """Return the path of the Python that the command names, else of the environment's own; None without any."""
    command = spec.get("command") or ""
    try:
        words = shlex.split(command) if isinstance(command, str) else [str(word) for word in command]
    except ValueError:
        words = []
    named = [word for word in words if PYTHON.fullmatch(os.path.basename(word))]
    for name in [*named[:1], "python3", "python"]:
        if found := shutil.which(name, path=environment.get("PATH")):
            return found
    return None


def variables_without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables whose names and values do not look like secrets; long values are shortened."""
    shown = {
        name: WITH_PASSWORD.sub("://***@", value)[:MAX_VALUE]
        for name, value in sorted(environment.items())
        if len(name) <= MAX_NAME and name.isprintable() and not SECRET_NAME.search(name)
        if not SECRET_VALUE.search(value) and not name.startswith("BASH_FUNC_")
    }
    return dict(list(shown.items())[:MAX_VARIABLES])


def _probe(python: str | None, environment: Mapping[str, str]) -> dict[str, Any] | None:
    """Run the interpreter once; return its version and its packages, None if it does not answer."""
    if python is None:
        return None
    # without the variables by which this project's own start-up code begins its work
    clean = {name: value for name, value in environment.items() if not name.startswith("BIGBATCH_")}
    try:
        done = subprocess.run(
            [python, "-B", "-c", PROBE],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=PROBE_S,
            env=clean,
            check=True,
        )
        found = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return found if isinstance(found, dict) else None


def _container(spec: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the image of the container, with its digest if the address or the image file has one."""
    container = (spec.get("environment") or {}).get("container")
    if not container:
        return None
    image = str(container.get("image", ""))
    _, at, digest = image.partition("@sha256:")
    found = {"kind": container.get("kind", "apptainer"), "image": image[:MAX_VALUE]}
    return {**found, "digest": f"sha256:{digest[:64]}" if at else _image_id(image)}


def _image_id(image: str) -> str | None:
    """Return the id that the header of an image file of Apptainer has; each build has another."""
    try:
        with open(image, "rb") as file:
            header = file.read(64)
    except (OSError, ValueError):
        return None
    return f"sif:{header[48:64].hex()}" if header[32:41] == b"SIF_MAGIC" and len(header) == 64 else None


def _accelerator(environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the version of the GPU driver and the names of the GPUs; None and nothing without a GPU."""
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8", errors="replace") as file:
            found = re.search(r"Module\s+([0-9.]+)", file.read(4096))
    except OSError:
        found = None
    driver = found.group(1) if found else None
    tool = shutil.which("nvidia-smi", path=environment.get("PATH"))
    if not tool:
        return {"driver": driver, "gpus": []}
    words = [tool, "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=GPU_S,
            check=True,
        )
        rows = [line.rpartition(",") for line in done.stdout.decode("utf-8", "replace").splitlines() if "," in line]
    except (OSError, subprocess.SubprocessError):
        return {"driver": driver, "gpus": []}
    gpus = [name.strip()[:MAX_NAME] for name, _, _ in rows[:64]]
    return {"driver": driver or (rows[0][2].strip()[:MAX_NAME] if rows else None), "gpus": gpus}


if __name__ == "__main__":
    record(Path(sys.argv[1]), int(sys.argv[2]), os.environ)
