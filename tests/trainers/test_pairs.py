"""Sentence pairs: padding, vocabularies, batches of similar length, and a learnable language."""

from pathlib import Path

import pytest
import torch

from trainers.data.sampler import permutation
from trainers.data.text.reversal import reversal
from trainers.data.text.sentence_pairs import Pairs, bucket_by_length, read_pairs
from trainers.data.text.vocabulary import BEGIN, END, FIRST_WORD, PADDING, UNKNOWN, Vocabulary
from trainers.losses import Translation
from trainers.models.gnmt import GNMT


def test_a_batch_is_padded_to_its_longest_sentence() -> None:
    pairs = Pairs([([5, 6, 7], [8]), ([9], [4, 5]), ([4], [4])])
    (source_BS, target_in_BT), target_out_BT = pairs.batch(torch.tensor([1, 0]))
    assert source_BS.tolist() == [[9, END, PADDING, PADDING], [5, 6, 7, END]]
    assert target_in_BT.tolist() == [[BEGIN, 4, 5], [BEGIN, 8, PADDING]]
    assert target_out_BT.tolist() == [[4, 5, END], [8, END, PADDING]]


def test_a_vocabulary_contains_the_most_frequent_words() -> None:
    vocabulary = Vocabulary([["b", "a", "b", "c"], ["d", "c", "b"]], size=FIRST_WORD + 3)
    assert vocabulary.words == ["b", "c", "a"]
    assert vocabulary.numbers(["a", "d", "b"]) == [FIRST_WORD + 2, UNKNOWN, FIRST_WORD]
    assert len(vocabulary) == 7
    with pytest.raises(ValueError, match="a vocabulary of 4 cannot contain words: 4 numbers are special tokens"):
        Vocabulary([], size=4)


def test_a_file_of_pairs_is_read_and_split(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"w{n} x\ty v{n} z\n" for n in range(20)), encoding="utf-8")
    train, heldout, vocabulary = read_pairs(path, heldout_samples=5, vocabulary_size=1000, max_length=2)
    assert (len(train), len(heldout)) == (15, 5)
    assert len(vocabulary) == FIRST_WORD + 15 + 2 + 15  # the w of training, x and y, the v; z was truncated
    (source_BS, _), target_out_BT = heldout.batch(torch.arange(5))
    assert (source_BS[:, 0] == UNKNOWN).all()
    assert source_BS.shape == target_out_BT.shape == (5, 3)
    with pytest.raises(ValueError, match="20 of the 20 pairs"):
        read_pairs(path, heldout_samples=20, vocabulary_size=1000, max_length=9)


@pytest.mark.parametrize("line", ["no tab", "a\tb\tc", "a\t ", ""])
def test_a_line_that_is_not_a_pair_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text(f"a\tb\n{line}\nc\td\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"pairs.tsv, line 2: expected a source, a tab and its translation"):
        read_pairs(path, heldout_samples=1, vocabulary_size=100, max_length=9)


def test_buckets_preserve_every_sample_and_reduce_padding() -> None:
    length_N = torch.randint(1, 60, (1003,), generator=torch.Generator().manual_seed(0))
    order_N = permutation(1003, seed=0, epoch=0)
    bucketed_N = bucket_by_length(order_N, length_N, batch=8)
    assert sorted(bucketed_N.tolist()) == list(range(1003))
    assert bucketed_N[1000:].tolist() == order_N[1000:].tolist()

    def padded(index_N: torch.Tensor) -> int:
        return int((length_N[index_N[:1000]].view(-1, 8).max(dim=1).values * 8).sum())

    assert padded(bucketed_N) < 1.1 * length_N.sum() < 0.7 * padded(order_N)
    means_B = length_N[bucketed_N[:1000]].view(-1, 8).float().mean(dim=0)
    assert means_B.max() < 1.03 * means_B.min()  # no position in the batch, and so no rank, has only long sentences
    means_S = length_N[bucketed_N[:400]].view(-1, 8).float().mean(dim=1)
    assert 10 < (means_S[1:] > means_S[:-1]).sum() < 40  # long and short batches are in random order


def test_lines_end_only_at_line_feeds(tmp_path: Path) -> None:
    """The sentences contain characters at which str.splitlines would split, and CRLF line ends."""
    path = tmp_path / "pairs.tsv"
    path.write_bytes("a\u2028b\tc\x85d\r\ne\tf\r\n".encode())
    train, heldout, vocabulary = read_pairs(path, heldout_samples=1, vocabulary_size=20, max_length=9)
    assert (len(train), len(heldout)) == (1, 1)
    assert len(vocabulary) in (8, 6)  # the words of one pair, and four special tokens


def test_a_file_in_another_encoding_is_named(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_bytes("a\tb\n\xe9t\xe9\tc\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"pairs.tsv is not valid UTF-8 at byte 4"):
        read_pairs(path, heldout_samples=1, vocabulary_size=20, max_length=9)


def test_reversed_sentences_depend_on_the_seed_and_have_one_translation_per_word() -> None:
    train, heldout = reversal(20, train_samples=50, heldout_samples=10, seed=3)
    again, _ = reversal(20, train_samples=50, heldout_samples=10, seed=3)
    other, _ = reversal(20, train_samples=50, heldout_samples=10, seed=4)
    (source_BS, _), target_BT = train.batch(torch.arange(50))
    assert torch.equal(source_BS, again.batch(torch.arange(50))[0][0])
    assert not torch.equal(source_BS[:5], other.batch(torch.arange(50))[0][0][:5])
    assert len(heldout) == 10
    for source, target in zip(source_BS.tolist(), target_BT.tolist(), strict=True):
        length = source.index(END)
        assert target.index(END) == length
    words = {}
    for source, target in zip(source_BS.tolist(), target_BT.tolist(), strict=True):
        length = source.index(END)
        for word, other_word in zip(source[:length], reversed(target[:length]), strict=True):
            assert words.setdefault(word, other_word) == other_word
    assert len(set(words.values())) == len(words) == 16


@pytest.mark.ring("all")
def test_gnmt_learns_a_batch_of_pairs() -> None:
    train, _ = reversal(10, train_samples=16, heldout_samples=1, max_length=4, seed=0)
    inputs, target = train.batch(torch.arange(16))
    torch.manual_seed(0)
    model = GNMT(10, padding=PADDING, units=32, layers=2, dropout=0.0)
    loss_of = Translation(padding=PADDING)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(100):
        loss = loss_of(model(*inputs), target)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
