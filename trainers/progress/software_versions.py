"""What a run was carried out with."""

import platform
from importlib.metadata import PackageNotFoundError, version


def versions() -> dict[str, str]:
    """The versions that a run's figures depend on."""
    return {"python": platform.python_version(), **{name: _installed(name) for name in ("torch", "bigbatch")}}


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
