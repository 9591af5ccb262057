"""An environment with Hugging Face's Trainer and Lightning: requirements/frameworks.txt beside the project's packages.

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

LIST = Path(__file__).parents[2] / "requirements" / "frameworks.txt"


def make_environment(folder: Path) -> Path:
    """Make a virtual environment in `folder` that sees the frameworks and this environment's packages; return it."""
    venv.create(folder, symlinks=True)
    shared = Path(sysconfig.get_path("purelib"))
    own = next((folder / "lib").glob("python3*")) / "site-packages"
    (own / "shared.pth").write_text(f"{shared}\n{_installed()}\n")
    subprocess.run([folder / "bin" / "python", "-m", "pip", "check"], check=True, stdout=subprocess.DEVNULL)
    return folder


def _installed() -> Path:
    """Return the folder with the list's packages, and install them first where that has not been done."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "bigbatch-tests"
    key = hashlib.sha256(f"{sys.version}{sysconfig.get_platform()}".encode() + LIST.read_bytes()).hexdigest()
    caches.mkdir(parents=True, exist_ok=True)
    place = caches / f"frameworks-{key[:16]}"
    with (caches / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several processes of tests
        if not place.exists():
            draft = place.with_suffix(".part")
            # nothing is byte-compiled but what a test imports
            words = ["--quiet", "--no-compile", "--no-deps", "--require-hashes", "--upgrade", "--target", str(draft)]
            subprocess.run([sys.executable, "-m", "pip", "install", *words, "-r", str(LIST)], check=True)
            draft.rename(place)
    return place
