"""The duration of a call, measured by each call alone: this process prints the median and the 99th percentile in ns."""

import json
import time
from collections.abc import Callable

import bigbatch

CALLS = 200_000


def main() -> None:
    """Measure a loop without a call, then calls with one metric and with four."""
    report = {
        "timer_ns": measure(lambda step: None),
        "one_metric_ns": measure(lambda step: bigbatch.log(step=step, loss=0.5 * step)),
        "four_metrics_ns": measure(
            lambda step: bigbatch.log(step=step, loss=0.5 * step, accuracy=0.9, rate=0.1, norm=1.0 / (step + 1))
        ),
    }
    began = time.perf_counter()
    for step in range(CALLS):
        bigbatch.log(step=step, loss=0.5)
    report["calls_per_s"] = {"value": round(CALLS / (time.perf_counter() - began))}
    print(json.dumps(report))


def measure(call: Callable[[int], object]) -> dict[str, int]:
    """Return percentiles of the duration of one call."""
    durations = []
    for step in range(CALLS):
        began = time.perf_counter_ns()
        call(step)
        durations.append(time.perf_counter_ns() - began)
    durations.sort()
    return {"median": durations[CALLS // 2], "p99": durations[CALLS * 99 // 100]}


if __name__ == "__main__":
    main()
