"""One loop that logs to one tracker as its users write it: wandb offline, SummaryWriter, mlflow or trackio."""

import argparse
import os
import time
from collections.abc import Callable

parser = argparse.ArgumentParser()
parser.add_argument("tracker", choices=["wandb", "summary_writer", "mlflow", "trackio"])
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
options = parser.parse_args()


def open_log() -> Callable[[int, float], None]:
    if options.tracker == "wandb":
        import wandb

        wandb.init(project="demo", mode="offline", config=vars(options))
        return lambda step, loss: wandb.log({"loss": loss}, step=step)
    if options.tracker == "trackio":
        import trackio

        trackio.init(project="demo", config=vars(options))
        return lambda step, loss: trackio.log({"loss": loss}, step=step)
    if options.tracker == "mlflow":
        import mlflow

        mlflow.start_run()
        return lambda step, loss: mlflow.log_metric("loss", loss, step=step)
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter()
    return lambda step, loss: writer.add_scalar("loss", loss, step)


log = open_log()
first = 0
if os.path.exists("ckpt.txt"):
    with open("ckpt.txt") as file:
        first = int(file.read())
    print(f"resumes at step {first}", flush=True)
for step in range(first + 1, options.steps + 1):
    time.sleep(float(os.environ.get("STEP_S", "0")))
    log(step, 1 / (options.lr * step))
    print(f"at step {step}", flush=True)
    if step % 5 == 0:
        with open("ckpt.txt", "w") as file:
            file.write(str(step))
