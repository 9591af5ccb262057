"""GPT: a decoder-only transformer with the norms first, as GPT-2 (Radford et al., 2019), without dropout.

    h = h + proj(attention(qkv(norm1(h))))
    h = h + fc2(gelu(fc1(norm2(h))))             in each of L blocks;  logits = head(norm(h))

With width D, context T and V tokens a net has V D + T D + L (12 D^2 + 13 D) + 2 D parameters, and V D more if the head
is not tied to the embedding. Matrices are drawn from N(0, 0.02^2); those that end a residual branch from
N(0, 0.02^2 / (2 L)), so that the variance of h does not grow with the depth. Biases are 0.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention

DEVIATION = 0.02


class GPT(nn.Module):
    """Map tokens_BT to the logits of the token that follows each position."""

    def __init__(
        self, vocabulary: int, *, context: int, width: int, layers: int, heads: int, has_tied_head: bool = True
    ) -> None:
        super().__init__()
        if width % heads:
            raise ValueError(f"a width of {width} does not divide into {heads} heads")
        embedding = Embedding(vocabulary, context, width)
        self.embedding: nn.Module = embedding
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm: nn.Module = nn.LayerNorm(width)
        head = nn.Linear(width, vocabulary, bias=False)
        self.head: nn.Module = head
        for name, p in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(p)
            elif p.dim() > 1:
                ends_branch = name.endswith(("proj.weight", "fc2.weight"))
                nn.init.normal_(p, std=DEVIATION / (2 * layers) ** 0.5 if ends_branch else DEVIATION)
        if has_tied_head:
            head.weight = parameter_of(embedding.tokens)

    def forward(self, tokens_BT: Tensor) -> Tensor:
        """Return logits_BTV."""
        h_BTD = self.embedding(tokens_BT)
        for block in self.blocks:
            h_BTD = block(h_BTD)
        logits_BTV: Tensor = self.head(self.norm(h_BTD))
        return logits_BTV


def parameter_of(layer: nn.Module, name: str = "weight") -> nn.Parameter:
    """Return a parameter of a layer, of which only the interface is known."""
    parameter = layer.get_parameter(name)
    assert isinstance(parameter, nn.Parameter)
    return parameter


class Embedding(nn.Module):
    """The sum of a vector for each token and a learned vector for each position."""

    def __init__(self, vocabulary: int, context: int, width: int) -> None:
        super().__init__()
        self.tokens: nn.Module = nn.Embedding(vocabulary, width)
        self.positions: nn.Module = nn.Embedding(context, width)

    def forward(self, tokens_BT: Tensor) -> Tensor:
        """Return h_BTD."""
        # a row for each sample: K-FAC sums each sample's gradients, of which one row for all would have the sum
        position_BT = torch.arange(tokens_BT.shape[1], device=tokens_BT.device).expand(tokens_BT.shape)
        h_BTD: Tensor = self.tokens(tokens_BT) + self.positions(position_BT)
        return h_BTD


class Block(nn.Module):
    """Attention and a perceptron, each on a residual branch."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1: nn.Module = nn.LayerNorm(width)
        self.attention = SelfAttention(width, heads)
        self.norm2: nn.Module = nn.LayerNorm(width)
        self.fc1: nn.Module = nn.Linear(width, 4 * width)
        self.fc2: nn.Module = nn.Linear(4 * width, width)

    def forward(self, h_BTD: Tensor) -> Tensor:
        """Return h_BTD after both branches."""
        h_BTD = h_BTD + self.attention(self.norm1(h_BTD))
        y_BTD: Tensor = self.fc2(gelu(self.fc1(self.norm2(h_BTD))))
        return h_BTD + y_BTD


class SelfAttention(nn.Module):
    """Causal attention (Vaswani et al., 2017); `heads` is the number of heads that this module computes."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv: nn.Module = nn.Linear(width, 3 * width)
        self.proj: nn.Module = nn.Linear(width, width)

    def forward(self, h_BTD: Tensor) -> Tensor:
        """Return y_BTD."""
        qkv_BTE: Tensor = self.qkv(h_BTD)
        q_BHTd, k_BHTd, v_BHTd = qkv_BTE.view(*qkv_BTE.shape[:2], 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y_BHTd = scaled_dot_product_attention(q_BHTd, k_BHTd, v_BHTd, is_causal=True)
        y_BTD: Tensor = self.proj(y_BHTd.transpose(1, 2).flatten(2))
        return y_BTD
