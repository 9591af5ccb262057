"""Hugging Face's Trainer on a net made up here, which resumes from its newest checkpoint."""

import argparse
import glob
import os
import time

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments


class Sums(Dataset[dict[str, torch.Tensor]]):
    def __len__(self) -> int:
        return 4096

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        data = torch.randn(8, generator=torch.Generator().manual_seed(index))
        return {"x": data, "labels": data.sum()}


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(8, 1)

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        time.sleep(float(os.environ.get("STEP_S", "0")))
        return {"loss": (self.net(x)[:, 0] - labels).square().mean()}


parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
options = parser.parse_args()
arguments = TrainingArguments(
    output_dir="out",
    max_steps=options.steps,
    learning_rate=options.lr,
    per_device_train_batch_size=8,
    logging_steps=5,
    save_steps=5,
    save_total_limit=2,
    report_to="tensorboard",
    use_cpu=True,
    dataloader_pin_memory=False,
)
trainer = Trainer(model=Net(), args=arguments, train_dataset=Sums())
found = [path for path in glob.glob("out/checkpoint-*") if os.path.exists(f"{path}/trainer_state.json")]
newest = max(found, key=lambda path: int(path.rpartition("-")[2]), default=None)
if newest:
    print(f"resumes at step {newest.rpartition('-')[2]}", flush=True)
trainer.train(resume_from_checkpoint=newest)
