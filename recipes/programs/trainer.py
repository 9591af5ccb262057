"""Train a small GPT-2 from nothing with Hugging Face's Trainer on made-up sequences; no download.

torchrun --nproc-per-node 2 trainer.py --output out
"""

import argparse
from pathlib import Path

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

VOCABULARY, LENGTH = 64, 32


class Counting(Dataset[dict[str, torch.Tensor]]):
    """Sequences that count upward in steps of 1 to 5."""

    def __len__(self) -> int:
        return 512

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        tokens = (index + (1 + index % 5) * torch.arange(LENGTH)) % VOCABULARY
        return {"input_ids": tokens, "labels": tokens}


def main() -> None:
    """Train; the Trainer writes TensorBoard files, saves checkpoints and continues from the newest one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--output", default="out")
    options = parser.parse_args()

    config = GPT2Config(vocab_size=VOCABULARY, n_positions=LENGTH, n_embd=64, n_layer=2, n_head=4)
    arguments = TrainingArguments(
        output_dir=options.output,
        max_steps=options.steps,
        learning_rate=options.lr,
        per_device_train_batch_size=16,
        logging_steps=5,
        save_steps=20,
        report_to="tensorboard",
        seed=0,
        use_cpu=not torch.cuda.is_available(),  # else each rank of a machine without GPUs trains alone
    )
    trainer = Trainer(model=GPT2LMHeadModel(config), args=arguments, train_dataset=Counting())
    trainer.train(resume_from_checkpoint=any(Path(options.output).glob("checkpoint-*")))


if __name__ == "__main__":
    main()
