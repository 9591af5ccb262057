"""One rank of the speed-up benchmark: train one run with the real engine, at a share of a core."""

import json
import os

from benchmarks.easgd import rank as engine_rank
from benchmarks.headline.cpu_quota import CpuQuota


def main() -> None:
    """Execute the task in the environment variable TASK; the imports above run at full speed."""
    quota = CpuQuota(f"speedup-{os.getpid()}", json.loads(os.environ["TASK"])["share"])
    quota.join()
    try:
        engine_rank.main()
    finally:
        quota.leave()
