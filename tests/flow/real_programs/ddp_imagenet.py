"""DistributedDataParallel in the style of the ImageNet example: meters in a line, and checkpoint.pth.tar beside it."""

import argparse
import os
import shutil
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
parser.add_argument("--resume", default="checkpoint.pth.tar")
options = parser.parse_args()
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = DistributedDataParallel(nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(4 * 36, 10)))
optimizer = torch.optim.SGD(model.parameters(), options.lr, momentum=0.9)
criterion = nn.CrossEntropyLoss()
start = 0
if os.path.isfile(options.resume):
    checkpoint = torch.load(options.resume)
    start = checkpoint["step"]
    model.load_state_dict(checkpoint["state_dict"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    if rank == 0:
        print(f"=> loaded checkpoint '{options.resume}', resumes at step {start}", flush=True)
for step in range(start + 1, options.steps + 1):
    began = time.time()
    time.sleep(float(os.environ.get("STEP_S", "0")))
    images, target = torch.randn(8, 3, 8, 8), torch.randint(10, (8,))
    loss = criterion(model(images), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"Epoch: [0][{step:3d}/{options.steps}]\tTime {time.time() - began:6.3f}\tLoss {loss.item():.4e}", flush=True)
    if step % 5 == 0 and rank == 0:
        state = {"step": step, "state_dict": model.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save(state, "checkpoint.pth.tar.part")
        os.replace("checkpoint.pth.tar.part", "checkpoint.pth.tar")
        shutil.copyfile("checkpoint.pth.tar", "model_best.pth.tar")
dist.destroy_process_group()
