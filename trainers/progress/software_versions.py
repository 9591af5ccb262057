"""Read the versions of the software that a run uses."""

import platform
from importlib.metadata import PackageNotFoundError, version


def read_versions() -> dict[str, str]:
    """Return the versions on which a run's results depend, by name."""
    return {"python": platform.python_version(), **{name: _installed(name) for name in ("torch", "bigbatch")}}


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
