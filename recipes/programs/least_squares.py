"""Fit a line by gradient descent with numpy alone, and write the loss as JSON lines.

python least_squares.py --rate 0.5 --out metrics.jsonl
"""

import argparse
import json

import numpy as np


def main() -> None:
    """Fit the line, and write one JSON object per step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=0.5)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--out", default="metrics.jsonl")
    options = parser.parse_args()

    random = np.random.default_rng(0)
    x = random.uniform(-1, 1, 200)
    y = 3 * x - 1 + random.normal(0, 0.1, 200)
    slope = offset = 0.0
    with open(options.out, "a") as out:
        for step in range(1, options.steps + 1):
            error = slope * x + offset - y
            slope -= options.rate * float(np.mean(error * x))
            offset -= options.rate * float(np.mean(error))
            line = {"step": step, "loss": float(np.mean(error**2)), "slope": slope, "offset": offset}
            out.write(json.dumps(line) + "\n")
            out.flush()
    print(f"y = {slope:.3f} x {offset:+.3f}")


if __name__ == "__main__":
    main()
