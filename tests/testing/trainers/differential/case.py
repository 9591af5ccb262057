"""Case: a net and the options of its run, as plain values that can be printed, sent to ranks and simplified."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from contract.spec.batch_size import split_into_passes
from tests.testing.trainers.differential.parts import BATCH_NORMS

SGD = {"kind": "sgd", "momentum": 0.0}
NATIVE = {"kind": "native"}
CHOICES = ("nesterov", "form", "momentum", "weight_decay", "no_weight_decay", "skip")  # of optimizers, with defaults


@dataclass(frozen=True)
class Case:
    """One net, its data and its run; every default is the simplest choice."""

    seed: int = 0
    parts: tuple[str, ...] = ()  # of the net, in order (parts.py)
    inputs: str = "vectors"  # or images, tokens
    dtype: str = "float32"  # of the net and of inputs that are no tokens
    draws: str = "torch"  # the generator from which the net draws one more weight: torch, python, numpy
    optimizer: dict[str, Any] = field(default_factory=SGD.copy)  # the field of the spec
    schedule: str = "constant"  # or cosine, own
    rate: float = 0.1
    warmup_epochs: float = 0.0
    world: int = 1
    share: int = 4  # samples of each rank and step
    later_share: int | None = None  # from the second epoch on
    micro_batch: int | None = None
    train_samples: int = 24
    heldout_samples: int = 8
    epochs: int = 1
    clip_norm: float | None = None
    ema_decay: float | None = None
    precision: str = "float32"
    collective: dict[str, Any] = field(default_factory=NATIVE.copy)  # the field of the spec
    packed: bool = True
    overlap: bool = True
    label_smoothing: float = 0.0
    own_loss: bool = False
    channels_last: bool = False
    resumes_at: int | None = None  # the step after which the run pauses, and from which a second attempt resumes

    @property
    def passes(self) -> int:
        """The passes of a rank in each step, in the first epoch."""
        return len(split_into_passes(self.share, self.micro_batch))

    @property
    def is_refused(self) -> bool:
        """Whether batch normalization would have passes of one sample."""
        shares = (self.share, self.later_share or self.share)
        least = min(min(split_into_passes(share, self.micro_batch)) for share in shares)
        return least < 2 and bool({*BATCH_NORMS} & {*self.parts})

    def features(self) -> set[str]:
        """Return every choice of this case, as one word each, if a run with them begins."""
        if self.is_refused:
            return {"refused"}
        optimizer = self.optimizer["kind"] if self.optimizer["kind"] != "import" else self.optimizer["function"]
        exempt = self.optimizer.get("skip") or self.optimizer.get("no_weight_decay", "none")
        chosen = {f"part {part}" for part in self.parts}
        chosen |= {f"optimizer {optimizer}", f"exempt {exempt}", f"collective {self.collective['kind']}"}
        names = ("inputs", "dtype", "draws", "schedule", "world", "precision", "packed", "overlap", "own_loss")
        chosen |= {f"{name} {getattr(self, name)}" for name in names}
        simplest = Case()
        others = (
            "micro_batch",
            "later_share",
            "clip_norm",
            "ema_decay",
            "label_smoothing",
            "channels_last",
            "resumes_at",
        )
        chosen |= {name for name in others if getattr(self, name) != getattr(simplest, name)}
        return chosen | ({"nesterov"} if self.optimizer.get("nesterov") else set())

    def describe(self) -> str:
        """Return the choices that are not the simplest ones."""
        simplest = Case()
        chosen = {one.name: getattr(self, one.name) for one in fields(self)}
        return ", ".join(f"{name}={value!r}" for name, value in chosen.items() if value != getattr(simplest, name))

    def to_json(self) -> str:
        """Return the case as text from which `from_json` makes it again."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Case":
        """Return the case that `to_json` has written."""
        values = json.loads(text)
        return cls(**{**values, "parts": tuple(values["parts"])})

    def simpler(self) -> Iterator["Case"]:
        """Yield cases with one choice less."""
        for number in range(len(self.parts)):
            yield replace(self, parts=self.parts[:number] + self.parts[number + 1 :])
        simplest = Case()
        for one in fields(self):
            if one.name not in ("seed", "parts") and getattr(self, one.name) != (value := getattr(simplest, one.name)):
                yield replace(self, **{one.name: value})
        for name in [name for name in CHOICES if name in self.optimizer]:
            yield replace(self, optimizer={key: value for key, value in self.optimizer.items() if key != name})
        if self.world > 2:
            yield replace(self, world=2)
