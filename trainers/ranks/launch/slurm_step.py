"""The end of a Slurm job step whose last processes hang."""

import os
import subprocess
import time
from collections.abc import Callable

from trainers.ranks.launch.local_ranks import GRACE_S

CALL_S = 60.0  # of scancel, on a controller that is slow


def kill_own_step(*, sleep: Callable[[float], None] = time.sleep) -> None:
    """Wait GRACE_S, then send SIGKILL to every process of this job step, this one included.

    Slurm ends a step when all its processes have ended, so one that hangs would hold the nodes until the job's time
    limit. Does nothing if the step ends before; raises OSError or subprocess.SubprocessError if `scancel` fails.
    """
    sleep(GRACE_S)
    step = f"{os.environ['SLURM_JOB_ID']}.{os.environ.get('SLURM_STEP_ID', '0')}"
    subprocess.run(
        ["scancel", "--signal=KILL", step], check=True, timeout=CALL_S, stdin=subprocess.DEVNULL, capture_output=True
    )
