"""The problems, the methods and their grids: everything that the comparison holds equal."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

Spec = dict[str, Any]

EPOCHS = 32
TUNING_SEED, SEEDS = 0, (1, 2, 3)
WARMUPS = (2.0, 6.0)  # epochs: every method is tuned with both


class Cell(NamedTuple):
    """One method at one batch on one problem: what is tuned, and then measured with other seeds."""

    problem: str
    method: str
    batch: int


class Trial(NamedTuple):
    """A choice that tuning makes: the schedule's rate, and the length of the warm-up in epochs."""

    rate: float
    warmup: float


@dataclass(frozen=True)
class Problem:
    """A net and a data set, the batches and the methods to compare on them."""

    model: Spec
    data: Spec
    batches: tuple[int, ...]
    methods: tuple[str, ...]
    more: Spec = field(default_factory=dict)  # other fields of the spec, for all methods
    chance: float = 1 / 26
    epochs: int = EPOCHS

    @property
    def smallest(self) -> int:
        """The batch whose accuracy the others should reach, and the reference of linear scaling."""
        return self.batches[0]


# Three rates of each method, each four times the one before; tuning adds twice and half of the best.
RATES: dict[str, tuple[float, float, float]] = {
    "sgd": (0.1, 0.4, 1.6),
    "lars": (8.0, 32.0, 128.0),
    "lars, batch control": (8.0, 32.0, 128.0),
    "lamb": (0.005, 0.02, 0.08),
}
SCALED = "sgd, linear scaling"  # SGD's rate at the smallest batch, times the batch's ratio to it
SGD: Spec = {"kind": "sgd", "momentum": 0.9, "weight_decay": 0.0005}
LARS: Spec = {"kind": "lars", "momentum": 0.9, "weight_decay": 0.0005, "trust_coefficient": 0.001, "skip": "none"}
OPTIMIZERS: dict[str, Spec] = {
    "sgd": SGD,
    SCALED: SGD,
    "lars": LARS,
    "lars, batch control": LARS,
    "lamb": {"kind": "lamb", "weight_decay": 0.01},
}
GROWN_FROM_EPOCH = 12  # batch control uses a quarter of the batch before this epoch

GLYPHS: Spec = {"kind": "glyphs", "classes": 26, "train_samples": 4096, "heldout_samples": 2000}
TWO = ("sgd", "lars")
PROBLEMS: dict[str, Problem] = {
    "convnet": Problem(
        {"kind": "convnet", "width": 8},
        GLYPHS,
        batches=(64, 128, 256, 512, 1024, 2048),
        methods=("sgd", SCALED, "lars", "lars, batch control", "lamb"),
    ),
    "alexnet_bn": Problem(
        {"kind": "import", "function": "benchmarks.batch_scaling.nets:alexnet_bn"},
        GLYPHS,
        batches=(64, 512, 1024, 2048),
        methods=TWO,
    ),
    "resnet50_v2": Problem(
        {"kind": "import", "function": "benchmarks.batch_scaling.nets:resnet50_v2"},
        GLYPHS,
        batches=(64, 512, 2048),
        methods=TWO,
    ),
    "gnmt": Problem(
        {"kind": "gnmt", "layers": 2, "units": 32, "dropout": 0.0},
        {"kind": "reversal", "vocabulary": 12, "max_length": 5, "train_samples": 4096, "heldout_samples": 512},
        batches=(64, 512, 1024),
        methods=TWO,
        more={"clip_norm": 5.0},
        chance=1 / 12,
    ),
}


def spec_of(cell: Cell, trial: Trial, seed: int) -> Spec:
    """Return the spec of one run."""
    problem = PROBLEMS[cell.problem]
    schedule: Spec = {"kind": "polynomial", "power": 2.0, "decay_from": "warmup"}
    schedule |= {"rate": trial.rate, "warmup_epochs": trial.warmup}
    optimizer = OPTIMIZERS[cell.method]
    shared = {"model": problem.model, "data": problem.data, "epochs": problem.epochs, "seed": seed, **problem.more}
    base = {**shared, "optimizer": optimizer, "batch": cell.batch, "schedule": schedule}
    if cell.method == SCALED:
        return {**base, "schedule": {**schedule, "scaling": {"reference_batch": problem.smallest}}}
    if cell.method == "lars, batch control":
        # The rate is for the full batch; the quarter batch before uses half of it by square-root scaling.
        scaling = {"reference_batch": cell.batch, "rule": "sqrt"}
        stages = [{"epoch": GROWN_FROM_EPOCH, "batch": cell.batch}]
        return {**base, "batch": cell.batch // 4, "batch_stages": stages, "schedule": {**schedule, "scaling": scaling}}
    return base


def cells_of(name: str) -> list[Cell]:
    """Return the cells of a problem, in the order in which they run: the smallest batch and SGD first.

    Linear scaling follows SGD, whose rate it takes, and is no cell at the smallest batch, where it is SGD itself.
    """
    problem = PROBLEMS[name]
    cells = [Cell(name, method, batch) for method in problem.methods for batch in problem.batches]
    return [cell for cell in cells if not (cell.method == SCALED and cell.batch == problem.smallest)]
