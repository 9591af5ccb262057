"""K-FAC of one rank in plain numpy and float64: a grouped convolution and two linear layers, momentum SGD.

Nothing is shared with the library: forward and backward are written out, a factor pair is inverted as one matrix of the
Kronecker product, with numpy's solver, where the library uses eigenvectors.
"""

from dataclasses import dataclass, field
from itertools import product
from typing import Literal

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
GROUPS = 2


@dataclass(frozen=True)
class Geometry:
    """The convolution of a net: of each side of its images (two) or volumes (three)."""

    shape: tuple[int, ...]  # channels and sides of a sample
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]

    @property
    def locations(self) -> tuple[int, ...]:
        """The sides of the output."""
        sides = zip(self.shape[1:], self.kernel, self.stride, self.padding, self.dilation, strict=True)
        return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in sides)


IMAGES = Geometry((4, 7, 6), (3, 3), (2, 1), (1, 0), (1, 2))
VOLUMES = Geometry((4, 3, 4, 3), (3, 2, 2), (2, 1, 1), (1, 0, 1), (1, 2, 1))


@dataclass
class Oracle:
    """The weights and the state of the optimizer and of K-FAC."""

    conv: Array  # (R, C / groups, kernel)
    conv_bias: Array
    hidden: Array
    hidden_bias: Array
    last: Array
    rate: float
    damping: float
    decay: float
    kl_clip: float | None
    geometry: Geometry = IMAGES
    method: Literal["eigen", "inverse"] = "eigen"
    factor_every: int = 1
    inverse_every: int = 1
    momentum: float = 0.9
    steps: int = 0
    updates: int = 0
    factors: list[tuple[Array, Array]] = field(default_factory=list)
    inverted: list[tuple[Array, Array]] = field(default_factory=list)
    velocity: list[Array] = field(default_factory=list)

    def step(self, x_BC: Array, y_B: npt.NDArray[np.int64]) -> float:
        """Take one step; return the loss before it."""
        loss, pairs, grads = self._backward(x_BC, y_B)
        if self.steps % self.factor_every == 0:
            self._average(pairs)
        if self.steps % self.inverse_every == 0:
            self.inverted = self.factors
        preconditioned = [
            self._solve(grad, *pair, self.damping) for grad, pair in zip(grads, self.inverted, strict=True)
        ]
        if self.kl_clip is not None:
            total = sum(abs(float((g * p).sum())) for g, p in zip(grads, preconditioned, strict=True)) * self.rate**2
            preconditioned = [p * min(1.0, (self.kl_clip / total) ** 0.5) for p in preconditioned]
        self._move(preconditioned)
        self.steps += 1
        return loss

    def weights(self) -> list[Array]:
        """Return the weights in the order of torch's parameters."""
        return [self.conv, self.conv_bias, self.hidden, self.hidden_bias, self.last]

    def _backward(
        self, x_BC: Array, y_B: npt.NDArray[np.int64]
    ) -> tuple[float, list[tuple[Array, Array]], list[Array]]:
        """Return the loss; for each block A and G of the batch; for each block the gradient with its bias."""
        samples, per_group = len(x_BC), len(self.conv) // GROUPS
        columns_QBTC = columns(x_BC, self.geometry)
        locations = columns_QBTC[0].shape[1]
        kernel_QRC = self.conv.reshape(GROUPS, per_group, -1)
        map_BRT = np.concatenate(
            [np.einsum("btc,rc->brt", columns_QBTC[q], kernel_QRC[q]) for q in range(GROUPS)], axis=1
        )
        map_BRT = map_BRT + self.conv_bias[None, :, None]
        flat_BF = np.maximum(map_BRT, 0).reshape(samples, -1)
        hidden_BH = np.tanh(flat_BF @ self.hidden.T + self.hidden_bias)
        logits_BK = hidden_BH @ self.last.T
        shifted_BK = logits_BK - logits_BK.max(axis=1, keepdims=True)
        p_BK = np.exp(shifted_BK) / np.exp(shifted_BK).sum(axis=1, keepdims=True)
        loss = float(-np.log(p_BK[np.arange(samples), y_B]).mean())
        dlogits_BK = p_BK.copy()
        dlogits_BK[np.arange(samples), y_B] -= 1  # of each sample's own loss
        dhidden_BH = dlogits_BK @ self.last * (1 - hidden_BH**2)
        dmap_BRT = (dhidden_BH @ self.hidden).reshape(map_BRT.shape) * (map_BRT > 0)
        pairs, grads = [], []
        for q in range(GROUPS):
            rows_NR = dmap_BRT[:, q * per_group : (q + 1) * per_group].transpose(0, 2, 1).reshape(-1, per_group)
            inputs_NC = with_ones(columns_QBTC[q].reshape(samples * locations, -1))
            pairs.append((inputs_NC.T @ inputs_NC / len(inputs_NC), rows_NR.T @ rows_NR / samples))
            grads.append(rows_NR.T @ inputs_NC / samples)
        for inputs_BC, rows_BR in ((with_ones(flat_BF), dhidden_BH), (hidden_BH, dlogits_BK)):
            pairs.append((inputs_BC.T @ inputs_BC / samples, rows_BR.T @ rows_BR / samples))
            grads.append(rows_BR.T @ inputs_BC / samples)
        return loss, pairs, grads

    def _average(self, pairs: list[tuple[Array, Array]]) -> None:
        self.updates += 1
        d = min(1 - 1 / self.updates, self.decay)
        before = self.factors or pairs
        self.factors = [
            (d * a + (1 - d) * new_a, d * g + (1 - d) * new_g)
            for (a, g), (new_a, new_g) in zip(before, pairs, strict=True)
        ]

    def _solve(self, grad_RC: Array, a: Array, g: Array, damping: float) -> Array:
        if self.method == "eigen":  # (G x A + damping I) vec(X) = vec(V), row by row
            whole = np.kron(g, a) + damping * np.eye(len(g) * len(a))
            return np.asarray(np.linalg.solve(whole, grad_RC.reshape(-1)), dtype=np.float64).reshape(grad_RC.shape)
        pi = np.sqrt(np.trace(a) / len(a) / (np.trace(g) / len(g)))
        damped_a, damped_g = a + pi * damping**0.5 * np.eye(len(a)), g + damping**0.5 / pi * np.eye(len(g))
        both_RC: Array = np.linalg.solve(damped_g, np.linalg.solve(damped_a, grad_RC.T).T)
        return both_RC

    def _move(self, steps: list[Array]) -> None:
        first, second, hidden, last = steps
        conv = np.concatenate([first, second])
        moves = [conv[:, :-1].reshape(self.conv.shape), conv[:, -1], hidden[:, :-1], hidden[:, -1], last]
        self.velocity = [
            self.momentum * v + move
            for v, move in zip(self.velocity or [np.zeros_like(m) for m in moves], moves, strict=True)
        ]
        for weight, v in zip(self.weights(), self.velocity, strict=True):
            weight -= self.rate * v


def columns(x_BC: Array, of: Geometry) -> list[Array]:
    """Return the inputs of each location by group, (B, T, C)."""
    x = np.pad(x_BC, ((0, 0), (0, 0), *((p, p) for p in of.padding)))
    channels = x.shape[1] // GROUPS
    groups = []
    for q in range(GROUPS):
        part = x[:, q * channels : (q + 1) * channels]
        rows = []
        for location in product(*map(range, of.locations)):
            sides = zip(location, of.kernel, of.stride, of.dilation, strict=True)
            window = tuple(slice(i * s, i * s + d * k, d) for i, k, s, d in sides)
            rows.append(part[:, :, *window].reshape(len(x), -1))
        groups.append(np.stack(rows, axis=1))
    return groups


def with_ones(x_NC: Array) -> Array:
    """Return x with a last column of ones."""
    return np.concatenate([x_NC, np.ones((len(x_NC), 1))], axis=1)
