"""`python -m trainers.probe FOLDER`: a compute node tells `bigbatch doctor` what it sees, through the shared folder.

here.json   which host, which Python, what it reads of `asked`, and whether a claim of another's is respected
ping        the doctor's call
pong.json   the time on this host as soon as it saw the call
torch.json  whether PyTorch loads, and what it finds
"""

import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

from contract.folder.run_folder import RunFolder
from trainers.progress.software_versions import versions

PATIENCE_S = 180.0
LOOK_S = 0.05


def main(folder: Path) -> None:
    """Answer, and wait for one call."""
    asked = (folder / "asked").read_text()
    holder = RunFolder(folder).claim(1, "the job")
    _say(folder / "here.json", {"host": socket.gethostname(), "asked": asked, "holder": holder, **_python()})
    until = time.monotonic() + PATIENCE_S
    while not (folder / "ping").exists():
        if time.monotonic() > until:
            sys.exit("the doctor did not call")
        time.sleep(LOOK_S)
    _say(folder / "pong.json", {"at": time.time()})
    _say(folder / "torch.json", _torch())


def _python() -> dict[str, Any]:
    return {"python": sys.executable, "versions": versions()}


def _torch() -> dict[str, Any]:
    try:
        import torch
    except Exception as error:  # a library that is missing is no ImportError
        return {"error": f"{type(error).__name__}: {error}"}
    return {"version": torch.__version__, "gpus": torch.cuda.device_count(), "cores": len(os.sched_getaffinity(0))}


def _say(path: Path, what: dict[str, Any]) -> None:
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(what))
    draft.replace(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
