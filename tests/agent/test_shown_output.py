"""What people see of a rank's output: the last state of progress bars, and whole lines where they have a label."""

import pytest

from agent.ranks.shown_output import LONGEST, PAUSE_S, ShownOutput

pytestmark = pytest.mark.ring("quick")

LABEL = b"1: "


def shown(*parts: bytes, label: bytes = b"") -> bytes:
    """Return what is shown of these parts, which come at once."""
    output = ShownOutput(label)
    return b"".join(output.take(part, 0.0) for part in parts) + output.finish()


@pytest.mark.parametrize(
    ("parts", "line"),
    [
        ([b"\r 10%\r 20%\r100%\n"], b"100%\n"),
        ([b"\r 10%", b"\r 20%", b"\r100%", b"\n"], b"100%\n"),
        ([b" 10%\r", b" 20%\r", b"100%\r\n"], b"100%\n"),
        ([b"\r100%\r", b"     \rdone\n"], b"done\n"),
        ([b"\r 99%"], b" 99%\n"),
        ([b"one\r\ntwo\r", b"\nthree\n"], b"one\ntwo\nthree\n"),
        ([b"one", b"\r\n"], b"one\n"),
        ([b"\n\n"], b"\n\n"),
    ],
)
@pytest.mark.parametrize("label", [b"", LABEL])
def test_of_a_line_with_carriage_returns_the_last_state_is_shown(parts: list[bytes], line: bytes, label: bytes) -> None:
    expected = b"".join(label + one + b"\n" for one in line.split(b"\n")[:-1])
    assert shown(*parts, label=label) == expected


@pytest.mark.parametrize("size", range(1, 9))
def test_it_does_not_matter_where_the_output_is_cut(size: int) -> None:
    text = b"a\r\n\r 10%\r 20%\nstep 1\n\n\r 30%\r\r\nb"
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    assert shown(*parts, label=LABEL) == b"1: a\n1:  20%\n1: step 1\n1: \n1:  30%\n1: b\n"


def test_a_state_that_follows_a_part_which_is_shown_already_is_a_line_of_its_own() -> None:
    assert shown(b"10%", b"\r20%", b"\r30%\n") == b"10%\n30%\n"


def test_without_a_label_a_part_of_a_line_is_shown_at_once() -> None:
    output = ShownOutput()
    assert (output.take(b"Continue? ", 0.0), output.take(b"yes\n", 1.0)) == (b"Continue? ", b"yes\n")
    assert output.finish() == b""


def test_with_a_label_a_line_waits_for_its_end_and_stays_whole() -> None:
    output = ShownOutput(LABEL)
    assert (output.take(b"step 1 lo", 0.0), output.take(b"ss 0.5\nst", 1.0)) == (b"", b"1: step 1 loss 0.5\n")
    assert output.finish() == b"1: st\n"


@pytest.mark.parametrize("label", [b"", LABEL])
def test_a_bar_that_goes_on_is_shown_once_a_minute(label: bytes) -> None:
    output = ShownOutput(label)
    seen = [output.take(b"\r%d%%" % number, 6.0 * number) for number in range(25)]
    assert [part for part in seen if part] == [label + b"10%\n", label + b"21%\n"]
    assert output.take(b"\r100%\nnext\n", 150.0) == label + b"100%\n" + label + b"next\n"


def test_a_line_without_an_end_is_shown_after_a_minute() -> None:
    output = ShownOutput(LABEL)
    assert output.take(b"step 1\nContinue? ", 10.0) == b"1: step 1\n"
    assert (output.look(9.0 + PAUSE_S), output.look(10.0 + PAUSE_S)) == (b"", b"1: Continue? \n")
    assert output.look(500.0) == b""
    assert output.take(b"\nyes\n", 600.0) == b"1: yes\n"


def test_lines_that_come_in_parts_for_minutes_stay_whole() -> None:
    output = ShownOutput(LABEL)
    seen = b"".join(output.take(b"a\nb", 7.0 * number) for number in range(100))
    assert set(seen.split(b"\n")) == {b"1: a", b"1: ba", b""}


@pytest.mark.parametrize("label", [b"", LABEL])
def test_a_line_without_an_end_takes_no_more_memory_than_a_long_line(label: bytes) -> None:
    output = ShownOutput(label)
    seen = b"".join(output.take(b"\r" + b"x" * 1_000 if not number else b"x" * 1_000, 0.0) for number in range(1_000))
    assert len(seen.replace(b"\n", b"").replace(LABEL, b"")) > 1_000_000 - 2 * LONGEST
