"""A language model in the style of nanoGPT: RANK means distributed, key=value overrides, out/ckpt.pt."""

import os
import sys
import time

import torch
from torch import nn

learning_rate, max_iters, out_dir, backend = 0.01, 60, "out", "nccl"
for argument in sys.argv[1:]:
    key, value = argument.removeprefix("--").split("=")
    globals()[key] = type(globals()[key])(value)
if int(os.environ.get("RANK", -1)) != -1:
    torch.distributed.init_process_group(backend=backend)
    torch.cuda.set_device(f"cuda:{os.environ['LOCAL_RANK']}")
os.makedirs(out_dir, exist_ok=True)
torch.manual_seed(1337)
model = nn.Sequential(nn.Embedding(65, 16), nn.Linear(16, 65))
optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
iter_num = 0
path = os.path.join(out_dir, "ckpt.pt")
if os.path.exists(path):
    checkpoint = torch.load(path)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    iter_num = checkpoint["iter_num"]
    print(f"resumes at step {iter_num}", flush=True)
while iter_num < max_iters:
    began = time.time()
    time.sleep(float(os.environ.get("STEP_S", "0")))
    tokens = torch.arange(iter_num, iter_num + 65) % 65
    loss = nn.functional.cross_entropy(model(tokens[:-1]), tokens[1:])
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    print(
        f"iter {iter_num}: loss {loss.item():.4f}, time {(time.time() - began) * 1000:.2f}ms, mfu -100.00%", flush=True
    )
    iter_num += 1
    if iter_num % 5 == 0:
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "iter_num": iter_num}
        torch.save(state, path)
