"""The names of a run's measured series, shared by trainer, store and dashboard."""

import re
from collections.abc import Iterable

LOSS = "loss"  # training loss of the step, mean over the global batch
LEARNING_RATE = "learning_rate"
SAMPLES_PER_S = "samples_per_s"  # of all ranks

# The parts of a step's wall time, each a mean over the ranks; their sum is the wall time.
COMPUTE_S = "compute_s"  # forward and backward
UPDATE_S = "update_s"  # of the weights, and of an EASGD center
COMMUNICATION_S = (
    "communication_s"  # in collectives after all ranks have arrived, or in exchanges with a center at rank 0
)
INPUT_S = "input_s"  # wait for the next batch
IDLE_S = "idle_s"  # in collectives, wait for slower ranks
SLOWEST_RANK = "slowest_rank"  # the last rank to arrive

# Of a run with K-FAC: details that the parts above contain, each a mean over the ranks.
FACTORS_S = "factors_s"  # statistics of the layers, in compute_s
INVERSES_S = "inverses_s"  # decompositions, in update_s
PRECONDITION_S = "precondition_s"  # products with the decompositions, in update_s

EPOCH = "epoch"  # completed epochs, at the last step of each epoch
HELDOUT_LOSS = "heldout_loss"
HELDOUT_ACCURACY = "heldout_accuracy"  # correct fraction of held-out samples (translation: of tokens), 0 to 1
# of language models
HELDOUT_PERPLEXITY = "heldout_perplexity"  # e to the held-out loss per token
HELDOUT_BITS_PER_BYTE = "heldout_bits_per_byte"
BATCH = "batch"  # samples per step in the epoch, over all ranks
TRAINED_S = "trained_s"  # training time since the start of the run, without the time between attempts
PEAK_MEMORY_BYTES = "peak_memory_bytes"  # the largest over the ranks: of the GPU, else of the process

SYSTEM = "system/"  # the beginning of the names of nodes' own metrics: agent/system

# Of each complete checkpoint, at its step.
CHECKPOINT_STALL_S = "checkpoint_stall_s"  # time for which training waited
CHECKPOINT_WRITE_S = "checkpoint_write_s"  # time until the checkpoint was complete, mostly in parallel with training
CHECKPOINT_BYTES = "checkpoint_bytes"

_OF_RANK = re.compile(r"/rank-[1-9][0-9]*$")

TIME_PARTS = (COMPUTE_S, UPDATE_S, COMMUNICATION_S, INPUT_S, IDLE_S)
TIME_DETAILS = {FACTORS_S: COMPUTE_S, INVERSES_S: UPDATE_S, PRECONDITION_S: UPDATE_S}  # detail: the part with it
EVERY_STEP = (LOSS, LEARNING_RATE, SAMPLES_PER_S, *TIME_PARTS, SLOWEST_RANK)
EVERY_EPOCH = (EPOCH, HELDOUT_LOSS, HELDOUT_ACCURACY, BATCH, TRAINED_S, PEAK_MEMORY_BYTES)
KNOWN = frozenset((*EVERY_STEP, *EVERY_EPOCH))


def name_of_rank(name: str, rank: int) -> str:
    """Return the name of the series of a metric that a rank above 0 logs."""
    return f"{name}/rank-{rank}"


def is_of_rank(name: str) -> bool:
    """Return whether a series is of a rank above 0."""
    return _OF_RANK.search(name) is not None


def name_of_system(name: str, host: str) -> str:
    """Return the name of the series of a node's own metric: `system/cpu-3/memory_bytes`."""
    return f"{SYSTEM}{host}/{name}"


def is_of_system(name: str) -> bool:
    """Return whether a series is of a node and its devices, and so has seconds in the place of steps."""
    return name.startswith(SYSTEM)


def is_secondary(name: str) -> bool:
    """Return whether a series is one of many alike, which tables and lists of a run leave out."""
    return is_of_rank(name) or is_of_system(name)


def by_importance(names: Iterable[str]) -> list[str]:
    """Return names of series in the order in which a reader looks for them.

    First those that every engine run has, then others by name, then those of ranks above 0 and of nodes.
    """
    return sorted(names, key=lambda name: (is_secondary(name), name not in KNOWN, name))
