"""Environments with packages that the project does not need: requirements/frameworks.txt and requirements/trackio.txt.

The packages are installed once for all checkouts and runs of tests, into the user's cache folder, and torch is shared.
"""

import fcntl
import hashlib
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

LISTS = Path(__file__).parents[2] / "requirements"
FRAMEWORKS, TRACKIO = "frameworks", "trackio"


def make_environment(folder: Path, name: str = FRAMEWORKS) -> Path:
    """Make a virtual environment in `folder` that sees the packages of a list; return the folder.

    The frameworks are beside the packages of this environment. Those of trackio are alone: its versions are others.
    """
    venv.create(folder, symlinks=True)
    own = next((folder / "lib").glob("python3*")) / "site-packages"
    places = [sysconfig.get_path("purelib")] if name == FRAMEWORKS else []
    (own / "shared.pth").write_text("".join(f"{place}\n" for place in (*places, install(name))))
    if name == FRAMEWORKS:  # else the environment has no pip
        launcher = folder / "bin" / "torchrun"  # which pip makes where torch itself is installed
        launcher.write_text(f'#!/bin/sh\nexec "{folder}/bin/python" -m torch.distributed.run "$@"\n')
        launcher.chmod(0o755)
        subprocess.run([folder / "bin" / "python", "-m", "pip", "check"], check=True, stdout=subprocess.DEVNULL)
    return folder


def install(name: str) -> Path:
    """Return the folder with the list's packages, and install them first where that has not been done."""
    path = LISTS / f"{name}.txt"
    caches = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "bigbatch-tests"
    key = hashlib.sha256(f"{sys.version}{sysconfig.get_platform()}".encode() + path.read_bytes()).hexdigest()
    caches.mkdir(parents=True, exist_ok=True)
    place = caches / f"{name}-{key[:16]}"
    with (caches / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several processes of tests
        if not place.exists():
            draft = place.with_suffix(".part")
            # nothing is byte-compiled but what a test imports
            words = ["--quiet", "--no-compile", "--no-deps", "--require-hashes", "--upgrade", "--target", str(draft)]
            subprocess.run([sys.executable, "-m", "pip", "install", *words, "-r", str(path)], check=True)
            draft.rename(place)
    return place
