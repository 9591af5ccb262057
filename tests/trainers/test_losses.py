"""Losses compared with their equations, and on parts of a batch compared with the whole batch."""

import pytest
import torch
from torch import Tensor, nn

from contract.spec.run import RunSpec
from trainers.build import losses
from trainers.losses import CrossEntropy, Heads, Translation

PAD = 0


def by_hand(logits_NK: Tensor, y_N: Tensor, eps: float) -> Tensor:
    """Compute -sum_k q(k) log p(k) of every row, as in the paper."""
    classes = logits_NK.shape[1]
    q_NK = (1 - eps) * torch.eye(classes)[y_N] + eps / classes
    return -(q_NK * logits_NK.softmax(1).log()).sum(1)


def draw(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("eps", [0.0, 0.1])
def test_cross_entropy_is_the_paper_s_equation(eps: float) -> None:
    logits_BK, y_B = draw(6, 5), torch.tensor([0, 1, 2, 3, 4, 0])
    loss = CrossEntropy(label_smoothing=eps)(logits_BK, y_B)
    torch.testing.assert_close(loss, by_hand(logits_BK, y_B, eps).mean())


def test_the_loss_is_minimal_for_the_smoothed_label_distribution() -> None:
    q_K = torch.tensor([0.925, 0.025, 0.025, 0.025])  # eps 0.1 over four classes
    loss = CrossEntropy(label_smoothing=0.1)
    least = loss(q_K.log()[None], torch.tensor([0]))
    torch.testing.assert_close(least, -(q_K * q_K.log()).sum())
    assert loss(torch.tensor([[50.0, 0, 0, 0]]), torch.tensor([0])) > least


def test_16_bit_logits_are_summed_in_float32() -> None:
    logits_BK = torch.zeros(1, 1000, dtype=torch.bfloat16)
    loss = CrossEntropy()(logits_BK, torch.tensor([3]))
    torch.testing.assert_close(loss, torch.tensor(1000.0).log())


def test_auxiliary_heads_are_weighted_in_training_and_absent_in_evaluation() -> None:
    last_BK, first_BK, second_BK = draw(3, 4, 5)
    y_B = torch.tensor([0, 1, 2, 3])
    plain = CrossEntropy()
    heads = Heads(plain, weight=0.3)
    expected = plain(last_BK, y_B) + 0.3 * plain(first_BK, y_B) + 0.3 * plain(second_BK, y_B)
    torch.testing.assert_close(heads((last_BK, first_BK, second_BK), y_B), expected)
    assert torch.equal(heads(last_BK, y_B), plain(last_BK, y_B))


@pytest.mark.parametrize("loss", [CrossEntropy(), Translation(padding=PAD)])
def test_several_outputs_without_a_weight_are_refused(loss: CrossEntropy | Translation) -> None:
    with pytest.raises(TypeError, match="the net returns 2 outputs but has no aux_weight"):
        loss((draw(2, 5), draw(2, 5)), torch.tensor([0, 1]))


@pytest.mark.parametrize("eps", [0.0, 0.1])
def test_a_translation_s_loss_is_summed_over_tokens_without_padding_and_averaged_over_sentences(eps: float) -> None:
    logits_BTV, y_BT = draw(2, 3, 5), torch.tensor([[4, 1, PAD], [2, 1, 3]])
    loss = Translation(padding=PAD, label_smoothing=eps)(logits_BTV, y_BT)
    tokens_N = by_hand(logits_BTV.flatten(0, 1), y_BT.flatten(), eps)
    torch.testing.assert_close(loss, tokens_N[[0, 1, 3, 4, 5]].sum() / 2)


def test_padding_has_no_gradient() -> None:
    logits_BTV = draw(1, 2, 5).requires_grad_()
    Translation(padding=PAD, label_smoothing=0.1)(logits_BTV, torch.tensor([[3, PAD]])).backward()
    assert logits_BTV.grad is not None
    assert logits_BTV.grad[0, 0].abs().sum() > 0
    assert logits_BTV.grad[0, 1].abs().sum() == 0


def test_the_mean_over_parts_of_a_batch_is_the_mean_over_the_batch() -> None:
    logits_BTV = draw(4, 3, 5)
    y_BT = torch.tensor([[1, PAD, PAD], [2, 1, PAD], [3, 2, 1], [4, 3, 1]])  # parts of 3 and of 6 tokens
    loss = Translation(padding=PAD, label_smoothing=0.1)
    shares = (loss(logits_BTV[:2], y_BT[:2]) + loss(logits_BTV[2:], y_BT[2:])) / 2
    torch.testing.assert_close(shares, loss(logits_BTV, y_BT))


@pytest.mark.parametrize("eps", [-0.1, 1.0])
def test_smoothing_outside_its_range_is_refused(eps: float) -> None:
    with pytest.raises(ValueError, match="at least 0 and below 1"):
        CrossEntropy(label_smoothing=eps)
    with pytest.raises(ValueError, match="at least 0 and below 1"):
        Translation(padding=PAD, label_smoothing=eps)


def test_the_spec_sets_the_smoothing_and_the_net_sets_the_weight_of_its_heads() -> None:
    choices = {"optimizer": {"kind": "sgd"}, "schedule": {"kind": "constant", "rate": 1.0}, "batch": 8, "epochs": 1}
    run = RunSpec.model_validate({**choices, "label_smoothing": 0.1})
    net = nn.Module()
    logits_BK, y_B = draw(2, 10), torch.tensor([3, 4])
    assert torch.equal(losses.build_loss(run, net)(logits_BK, y_B), CrossEntropy(label_smoothing=0.1)(logits_BK, y_B))
    net.aux_weight = 0.3
    expected = 1.3 * losses.build_loss(run, net)(logits_BK, y_B)
    torch.testing.assert_close(losses.build_loss(run, net)((logits_BK, logits_BK), y_B), expected)
