"""GNMT (Wu et al., 2016, arXiv:1609.08144) in its second form, which TensorFlow's NMT and MLPerf train.

Encoder: LSTM layers, the first bidirectional, with residual connections from the third on. Decoder: equally many LSTM
layers, with residual connections from the third on. The output of the decoder's first layer is the attention's query,
and the context is concatenated to the input of every later layer. (In the paper the context is one step late, so the
layers cannot process a whole sentence at once.) Source and target share one vocabulary and its embedding.

With 4 layers of 1,024 units and V tokens the net has 94,447,617 + 2,049 V parameters: 160 million for 32,000 tokens.
All parameters are initialized from U(-0.1, 0.1), the attention's gain with 1 / sqrt(units) and its bias with 0. Dropout
is on the input of every LSTM.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

RANGE = 0.1


class _LSTM(nn.LSTM):
    """An LSTM that computes in float32 where torch has none of 16 bits: on CPUs, except in bfloat16 with AVX-512."""

    def forward(self, x: Any, state: Any = None) -> Any:
        tensor = x.data if isinstance(x, PackedSequence) else x
        if tensor.device.type != "cpu" or not torch.is_autocast_enabled("cpu") or _cpu_has_lstm():
            return super().forward(x, state)
        with torch.autocast("cpu", enabled=False):
            return super().forward(x.float(), state)


def _cpu_has_lstm() -> bool:
    """Return whether torch (oneDNN) has an LSTM of autocast's type for this CPU."""
    is_bfloat16 = torch.get_autocast_dtype("cpu") is torch.bfloat16
    return is_bfloat16 and torch.backends.cpu.get_cpu_capability().startswith("AVX512")


class GNMT(nn.Module):
    """Map source_BS and target_BT, the target before each position, to the logits of the token at the position."""

    def __init__(
        self, vocabulary: int, *, padding: int, units: int = 1024, layers: int = 4, dropout: float = 0.2
    ) -> None:
        super().__init__()
        if layers < 2:
            raise ValueError(f"GNMT needs at least 2 layers, not {layers}")
        self.padding = padding
        self.embedding = nn.Embedding(vocabulary, units, padding_idx=padding)
        self.encoder = _Encoder(units, layers, dropout=dropout)
        self.decoder = _Decoder(units, layers, dropout=dropout)
        self.classifier = nn.Linear(units, vocabulary)
        for p in self.parameters():
            nn.init.uniform_(p, -RANGE, RANGE)
        nn.init.constant_(self.decoder.attention.gain, units**-0.5)
        nn.init.zeros_(self.decoder.attention.bias)
        nn.init.zeros_(self.embedding.weight[padding].data)

    def forward(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        """Return logits_BTV."""
        is_padding_BS = source_BS == self.padding
        source_BSD = self.encoder(self.embedding(source_BS), (~is_padding_BS).sum(dim=1))
        x_BTD = self.decoder(self.embedding(target_BT), source_BSD, is_padding_BS)
        logits_BTV: Tensor = self.classifier(x_BTD)
        return logits_BTV


class _Encoder(nn.Module):
    def __init__(self, units: int, layers: int, *, dropout: float) -> None:
        super().__init__()
        self.both_ways = _LSTM(units, units, bidirectional=True, batch_first=True)
        self.second = _LSTM(2 * units, units, batch_first=True)
        self.later = nn.ModuleList(_LSTM(units, units, batch_first=True) for _ in range(layers - 2))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x_BSD: Tensor, length_B: Tensor) -> Tensor:
        # packed, so that the reverse direction starts at the end of each sentence
        packed = pack_padded_sequence(self.dropout(x_BSD), length_B.cpu(), batch_first=True, enforce_sorted=False)
        both_BSE, _ = pad_packed_sequence(self.both_ways(packed)[0], batch_first=True, total_length=x_BSD.shape[1])
        x_BSD = self.second(self.dropout(both_BSE))[0]
        for layer in self.later:
            x_BSD = layer(self.dropout(x_BSD))[0] + x_BSD
        return x_BSD


class _Decoder(nn.Module):
    def __init__(self, units: int, layers: int, *, dropout: float) -> None:
        super().__init__()
        self.first = _LSTM(units, units, batch_first=True)
        self.attention = Attention(units)
        self.later = nn.ModuleList(_LSTM(2 * units, units, batch_first=True) for _ in range(layers - 1))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x_BTD: Tensor, source_BSD: Tensor, is_padding_BS: Tensor) -> Tensor:
        x_BTD = self.first(self.dropout(x_BTD))[0]
        context_BTD = self.attention(x_BTD, source_BSD, is_padding_BS)
        for number, layer in enumerate(self.later):
            y_BTD = layer(torch.cat([self.dropout(x_BTD), context_BTD], dim=2))[0]
            x_BTD = y_BTD + x_BTD if number else y_BTD
        return x_BTD


class Attention(nn.Module):
    """Compute a context vector from the source for every target position: normalized additive attention.

        score(q, k) = g v / ||v|| . tanh(W q + U k + b),   weights = softmax over the source,
        context = sum of weights x keys

    (Bahdanau, Cho & Bengio, 2014; normalized as by Salimans & Kingma, 2016.) The backward pass needs B x T x S x units
    stored numbers.
    """

    def __init__(self, units: int) -> None:
        super().__init__()
        self.query = nn.Linear(units, units, bias=False)
        self.key = nn.Linear(units, units, bias=False)
        self.direction = nn.Parameter(torch.empty(units))
        self.gain = nn.Parameter(torch.empty(1))
        self.bias = nn.Parameter(torch.empty(units))

    def forward(self, query_BTD: Tensor, key_BSD: Tensor, is_padding_BS: Tensor) -> Tensor:
        """Return context_BTD; source padding has weight 0."""
        sum_BTSD = self.query(query_BTD)[:, :, None] + self.key(key_BSD)[:, None] + self.bias
        v_D = self.gain * self.direction / torch.linalg.vector_norm(self.direction)
        score_BTS = torch.tanh(sum_BTSD) @ v_D
        score_BTS = score_BTS.masked_fill(is_padding_BS[:, None], float("-inf"))
        context_BTD: Tensor = score_BTS.softmax(dim=2) @ key_BSD
        return context_BTD
