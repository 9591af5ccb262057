"""A training loop with Accelerate, its tracker for TensorBoard and its own save_state."""

import argparse
import os
import time

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
options = parser.parse_args()
accelerator = Accelerator(cpu=True, log_with="tensorboard", project_dir="tracking")
accelerator.init_trackers("demo", config=vars(options))
torch.manual_seed(0)
inputs = torch.randn(4096, 8)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=options.lr)
loader = DataLoader(TensorDataset(inputs, inputs.sum(1, keepdim=True)), batch_size=8)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
step = 0
if os.path.exists("state/step"):
    accelerator.load_state("state")
    with open("state/step") as file:
        step = int(file.read())
    accelerator.print(f"resumes at step {step}", flush=True)
for data, target in accelerator.skip_first_batches(loader, step):
    if step >= options.steps:
        break
    time.sleep(float(os.environ.get("STEP_S", "0")))
    loss = (model(data) - target).square().mean()
    optimizer.zero_grad()
    accelerator.backward(loss)
    optimizer.step()
    step += 1
    accelerator.log({"train_loss": loss.item()}, step=step)
    if step % 5 == 0:
        accelerator.save_state("state")
        if accelerator.is_main_process:
            with open("state/step", "w") as file:
                file.write(str(step))
accelerator.end_training()
