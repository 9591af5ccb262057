"""The accuracy of a translation counts tokens, over all ranks and without padding."""

from math import log

import pytest
import torch
from torch import Tensor, nn

from contract.metric_names import HELDOUT_ACCURACY, HELDOUT_LOSS
from tests.testing.trainers.forked_ranks import on_ranks
from trainers.data.split import Batch
from trainers.tasks import Translation
from trainers.training.evaluation import Evaluation
from trainers.training.precision import Precision

PADDING, WORDS = 0, 4
SENTENCES = [[1, 2, 3], [2], [3, 3, 1, 1, 2], [1, 1]]  # 11 tokens
CPU = torch.device("cpu")


class Pairs:
    """Sentences that are their own translation, padded to the longest sentence of a batch."""

    def __len__(self) -> int:
        return len(SENTENCES)

    def batch(self, index_B: Tensor) -> Batch:
        chosen = [torch.tensor(SENTENCES[index]) for index in index_B.tolist()]
        y_BT = nn.utils.rnn.pad_sequence(chosen, batch_first=True, padding_value=PADDING)
        return (y_BT, y_BT), y_BT


class Parrot(nn.Module):
    """Return the source with logit log(7), a probability of 7/10; but predict 1 for every 3."""

    def forward(self, source_BS: Tensor, target_in_BT: Tensor) -> Tensor:
        predicted_BT = torch.where(source_BS == 3, 1, source_BS)
        return nn.functional.one_hot(predicted_BT, WORDS) * log(7)


def evaluate_translation() -> dict[str, float]:
    evaluation = Evaluation(Pairs(), Translation(padding=PADDING), 2, Precision(torch.float32, CPU), CPU)
    return evaluation(Parrot())


@pytest.mark.parametrize("world", [1, 3])
def test_every_token_counts_once_and_padding_does_not_count(world: int) -> None:
    for judged in on_ranks(world, evaluate_translation):
        assert judged[HELDOUT_ACCURACY] == 8 / 11  # three of the tokens are 3
        assert judged[HELDOUT_LOSS] == pytest.approx(-(8 * log(0.7) + 3 * log(0.1)) / 11)
