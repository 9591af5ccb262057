"""`python -m trainers.probe FOLDER`: report to `bigbatch doctor`, through the shared folder, how a compute node looks.

here.json   the host, its Python, the content of `asked`, and whether an existing claim is respected
ping        written by the doctor
pong.json   the time on this host when this program saw `ping`
torch.json  whether PyTorch can be imported, and its devices

`python -m trainers.probe` prints the last one, for the machine of the service.
"""

import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

from contract.folder.run_folder import RunFolder
from trainers.progress.software_versions import read_versions

PING_TIMEOUT_S = 180.0
POLL_S = 0.05


def main(folder: Path) -> None:
    """Write the report, and answer one ping."""
    content = (folder / "asked").read_text()
    holder = RunFolder(folder).claim(1, "the job")
    _write(folder / "here.json", {"host": socket.gethostname(), "asked": content, "holder": holder, **_python()})
    until = time.monotonic() + PING_TIMEOUT_S
    while not (folder / "ping").exists():
        if time.monotonic() > until:
            sys.exit(f"the doctor wrote no {folder / 'ping'} within {PING_TIMEOUT_S:g} s")
        time.sleep(POLL_S)
    _write(folder / "pong.json", {"at": time.time()})
    _write(folder / "torch.json", _torch())


def _python() -> dict[str, Any]:
    return {"python": sys.executable, "versions": read_versions()}


def _torch() -> dict[str, Any]:
    try:
        import torch
    except Exception as error:  # a missing shared library raises other errors than ImportError
        return {"error": f"{type(error).__name__}: {error}"}
    return {
        "version": torch.__version__,
        "gpus": torch.cuda.device_count(),
        "cores": len(os.sched_getaffinity(0)),
        "binds_stores": _binds_stores(),
    }


def _binds_stores() -> bool:
    """Return whether the store of a program can listen at one address (bigbatch/injected/loopback_store.py)."""
    import torch.distributed

    store = getattr(torch.distributed, "TCPStore", None)
    return store is None or "master_listen_fd" in (store.__init__.__doc__ or "")


def _write(path: Path, content: dict[str, Any]) -> None:
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(content))
    draft.replace(path)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        print(json.dumps(_torch()))
