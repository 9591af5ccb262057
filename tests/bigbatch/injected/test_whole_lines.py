"""A program of a run writes its output line by line, and none of it late."""

import os
import subprocess
import sys
from pathlib import Path

from tests.testing.program_ranks import ROOT

PROGRAM = """
import os, sys
print("step", 1, "loss", 0.5)
print("wait", end="", flush=True)
print("for", "me", file=sys.stderr)
os._exit(0)
"""


def test_each_line_is_written_at_once_and_flush_is_obeyed(tmp_path: Path) -> None:
    """Each read of a pipe in packet mode returns what one call of write() has written."""
    reader, writer = os.pipe2(os.O_DIRECT)
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join([str(ROOT / "bigbatch" / "injected"), str(ROOT)]),
        "PYTHONUNBUFFERED": "1",
        "BIGBATCH_RUN_FOLDER": str(tmp_path),
    }
    subprocess.run([sys.executable, "-c", PROGRAM], env=environment, stdout=writer, stderr=writer, check=True)
    os.close(writer)
    written = [os.read(reader, 4096) for _ in range(3)]
    os.close(reader)
    assert written == [b"step 1 loss 0.5\n", b"wait", b"for me\n"]
