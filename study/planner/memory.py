"""Memory of one rank by part, and the largest micro-batch that fits.

    memory = vectors of weight length + buffers + micro-batch (input + activations) + transient + workspace

Zou et al. (2017, section 3.2) count feature maps, three times the parameters and workspace. Here the vectors are
counted as in contract/spec/checks/memory.py, the activations are measured per net (trainers/profiles), and the
workspace, which the libraries of a device choose, is assumed.
"""

from dataclasses import dataclass
from math import inf

from contract.spec.checks.memory import count_vectors
from contract.spec.checks.model_size import FLOAT_BYTES, ModelSize
from contract.spec.choices.optimizers import SGD, EngineOptimizer
from contract.spec.choices.rules import Rule, Sync
from study.planner.net import NetCosts

FACTOR_VECTORS = 2  # the running averages of the factors, and those of the last decompositions
HALF = 0.5  # of the bytes of activations, if forward and backward pass use 16 bits


@dataclass(frozen=True)
class KFACBytes:
    """Bytes of K-FAC on the rank with the most: factors with their message to all ranks, and decompositions."""

    factors: float
    inverses: float


def kfac_bytes(factor_words: int, held_words: int, *, message_bytes: int) -> KFACBytes:
    """Return the bytes of so many numbers of factors, which every rank has, and of stored decompositions."""
    return KFACBytes(
        factors=(FACTOR_VECTORS * FLOAT_BYTES + message_bytes) * factor_words, inverses=FLOAT_BYTES * held_words
    )


@dataclass(frozen=True)
class RankMemory:
    """Bytes of one rank: fixed ones by part, and what a sample of the micro-batch adds."""

    weights: float
    gradients: float
    optimizer: float
    messages: float
    buffers: float
    workspace: float
    sample_activations: float
    sample_input: float
    sample_transient: float
    factors: float = 0.0
    inverses: float = 0.0

    @property
    def fixed_bytes(self) -> float:
        """The bytes that do not depend on the micro-batch."""
        vectors = self.weights + self.gradients + self.optimizer + self.messages
        return vectors + self.factors + self.inverses + self.buffers + self.workspace

    @property
    def sample_bytes(self) -> float:
        """The bytes of one sample of the micro-batch."""
        return self.sample_activations + self.sample_input + self.sample_transient

    def total_bytes(self, micro_batch: int) -> float:
        """Return the bytes with `micro_batch` samples a pass."""
        return self.fixed_bytes + micro_batch * self.sample_bytes

    def largest_micro_batch(self, memory_bytes: float) -> int:
        """Return the most samples of a pass that fit; 0 if not even one does."""
        if self.sample_bytes == 0:
            raise ValueError("a sample needs memory")
        return max(0, int((memory_bytes - self.fixed_bytes) // self.sample_bytes)) if memory_bytes < inf else 0


def rank_memory(
    size: ModelSize,
    costs: NetCosts,
    *,
    optimizer: EngineOptimizer,
    rule: Rule | None = None,
    world: int = 1,
    is_half: bool = False,
    workspace_bytes: float = 0.0,
    kfac: KFACBytes | None = None,
) -> RankMemory:
    """Return the memory of a rank other than rank 0, whose center takes more if a rule has one."""
    vector_bytes = FLOAT_BYTES * size.weights
    plain, _ = count_vectors(Sync(), SGD(momentum=0.0), world=1, averages=False)  # weights and gradients
    stateful, _ = count_vectors(Sync(), optimizer, world=1, averages=False)
    every, _ = count_vectors(rule or Sync(), optimizer, world=world, averages=False)
    factor = HALF if is_half else 1.0
    return RankMemory(
        weights=vector_bytes,
        gradients=vector_bytes * (plain - 1),
        optimizer=vector_bytes * (stateful - plain),
        messages=vector_bytes * max(every - stateful, 0),
        buffers=size.buffer_bytes,
        workspace=workspace_bytes,
        sample_activations=factor * costs.activation_bytes,
        sample_input=costs.input_bytes,
        sample_transient=factor * costs.transient_bytes,
        factors=kfac.factors if kfac is not None else 0.0,
        inverses=kfac.inverses if kfac is not None else 0.0,
    )
