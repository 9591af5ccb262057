"""GNMT: its number of parameters, and its dependence on source, earlier target tokens and padding."""

import pytest
import torch

from trainers.losses import Translation
from trainers.models.gnmt import GNMT

PAD, VOCABULARY = 0, 11


def tiny(**options: float) -> GNMT:
    torch.manual_seed(1)
    return GNMT(VOCABULARY, padding=PAD, units=6, layers=3, dropout=0.0, **options)


def test_the_number_of_parameters_is_the_sum_over_the_layers() -> None:
    with torch.device("meta"):
        model = GNMT(32_000, padding=PAD)
    d, vocabulary = 1024, 32_000
    lstm = lambda inputs: 4 * d * (inputs + d) + 8 * d  # noqa: E731  the paper's cell, with two biases as in cuDNN
    encoder = 2 * lstm(d) + lstm(2 * d) + 2 * lstm(d)
    decoder = lstm(d) + 3 * lstm(2 * d)
    attention = 2 * d * d + 2 * d + 1
    expected = vocabulary * d + encoder + decoder + attention + (d + 1) * vocabulary
    assert sum(p.numel() for p in model.parameters()) == expected == 94_447_617 + 2_049 * vocabulary


def test_every_weight_has_a_gradient() -> None:
    model = tiny()
    source_BS, target_BT = torch.tensor([[1, 2, 3], [4, 5, PAD]]), torch.tensor([[1, 6, 7, 8], [1, 9, 10, PAD]])
    logits_BTV = model(source_BS, target_BT)
    assert logits_BTV.shape == (2, 4, VOCABULARY)
    Translation(padding=PAD)(logits_BTV, target_BT).backward()
    assert [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()] == []


def test_padding_does_not_change_the_output() -> None:
    model = tiny()
    alone_BTV = model(torch.tensor([[4, 5]]), torch.tensor([[1, 6, 7]]))
    padded_BTV = model(torch.tensor([[4, 5, PAD, PAD], [1, 2, 3, 4]]), torch.tensor([[1, 6, 7, PAD], [1, 2, 3, 4]]))
    torch.testing.assert_close(padded_BTV[:1, :3], alone_BTV)


def test_a_position_depends_on_the_whole_source_and_earlier_target_tokens_only() -> None:
    model = tiny()
    source_BS, target_BT = torch.tensor([[1, 2, 3]]), torch.tensor([[1, 6, 7, 8]])
    before_BTV = model(source_BS, target_BT)
    other_source_BTV = model(torch.tensor([[1, 2, 4]]), target_BT)
    assert ((other_source_BTV - before_BTV).abs().amax(dim=2) > 0).all()
    other_end_BTV = model(source_BS, torch.tensor([[1, 6, 9, 8]]))
    assert torch.equal(other_end_BTV[:, :2], before_BTV[:, :2])
    assert ((other_end_BTV - before_BTV)[:, 2:].abs().amax(dim=2) > 0).all()


def test_fewer_than_two_layers_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 2 layers, not 1"):
        GNMT(VOCABULARY, padding=PAD, layers=1)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_16_bit_passes_train_on_a_cpu(dtype: torch.dtype) -> None:
    """Forces float16 passes of LSTM layers on a CPU, for which torch has no float16 LSTM."""
    model = tiny()
    source_BS, target_BT = torch.tensor([[1, 2, 3], [4, 5, PAD]]), torch.tensor([[1, 6, 7, 8], [1, 9, 10, PAD]])
    expected_BTV = model(source_BS, target_BT)
    with torch.autocast("cpu", dtype):
        logits_BTV = model(source_BS, target_BT)
    torch.testing.assert_close(logits_BTV.float(), expected_BTV, rtol=0, atol=2**-5)
    Translation(padding=PAD)(logits_BTV, target_BT).backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
