"""The hash of the engine's code: what an engine run computes depends on it as a program's result on its snapshot."""

from functools import cache
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("trainers", "contract/spec")  # the engine, and what a spec means


@cache
def engine_code() -> str:
    """Return the hash of the Python files of the engine as this process found them first."""
    digest = sha256()
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            digest.update(f"{path.relative_to(ROOT).as_posix()}\0".encode())
            digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()
