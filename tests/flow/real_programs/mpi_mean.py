"""mpi4py: each rank has a part of the sum, rank 0 prints and saves."""

import argparse
import os
import time

from mpi4py import MPI

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
options = parser.parse_args()
world = MPI.COMM_WORLD
value, first = 10.0, 0
if os.path.exists("state.txt"):
    with open("state.txt") as file:
        first, value = int(file.readline()), float(file.readline())
    if world.rank == 0:
        print(f"resumes at step {first}", flush=True)
for step in range(first + 1, options.steps + 1):
    time.sleep(float(os.environ.get("STEP_S", "0")))
    value -= options.lr * world.allreduce(value, op=MPI.SUM) / world.size
    if world.rank == 0:
        print(f"step {step} error {value:.6f}", flush=True)
        with open("state.part", "w") as file:
            file.write(f"{step}\n{value}\n")
        os.replace("state.part", "state.txt")
