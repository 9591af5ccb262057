"""Which rank the others wait for, from what is known of every rank."""

from typing import Any

from agent.stalls.record import describe
from agent.stalls.suspects import RankView, Stall, find_stall
from agent.stalls.trace import trace_of

LIMIT_S = 600.0
LONG_S, SHORT_S = 700.0, 3.0


def view(rank: int, idle_s: float = LONG_S, still_s: float | None = None, **known: Any) -> RankView:
    return RankView(rank, idle_s, idle_s if still_s is None else still_s, known.pop("silent_s", 0.0), **known)


def in_all_reduce(rank: int, begun: int = 9, idle_s: float = LONG_S) -> RankView:
    return view(rank, idle_s, begun=begun, collective="all_reduce", line="train.py:7 in main")


def suspects(*views: RankView) -> list[int] | None:
    stall = find_stall(views, LIMIT_S)
    return None if stall is None else [found.rank for found in stall.suspects]


def test_no_rank_has_stalled_before_the_limit() -> None:
    assert suspects(view(0, 599.0), in_all_reduce(1, idle_s=599.0)) is None


def test_the_rank_that_is_in_no_collective_is_the_one_for_which_the_others_wait() -> None:
    assert suspects(in_all_reduce(0), view(1), in_all_reduce(2)) == [1]


def test_a_stopped_rank_comes_before_a_rank_that_waits_elsewhere() -> None:
    assert suspects(view(0), view(1, silent_s=LONG_S, is_stopped=True), in_all_reduce(2)) == [1]


def test_a_rank_on_another_host_that_notes_nothing_any_more_is_suspected() -> None:
    assert suspects(in_all_reduce(0), view(1, silent_s=LONG_S, collective="all_reduce")) == [1]


def test_ranks_that_wait_for_a_rank_with_progress_have_not_stalled() -> None:
    """Rank 0 evaluates for a long time, while the other ranks wait at a barrier."""
    assert suspects(view(0, SHORT_S), in_all_reduce(1), in_all_reduce(2)) is None


def test_a_rank_that_computes_while_others_wait_has_three_times_the_limit() -> None:
    assert suspects(view(0, LONG_S, SHORT_S), in_all_reduce(1)) is None
    assert suspects(view(0, 3 * LIMIT_S, SHORT_S), in_all_reduce(1, idle_s=3 * LIMIT_S)) == [0]


def test_a_single_rank_that_computes_without_steps_goes_on() -> None:
    """After its last step, a program computes for an hour."""
    assert suspects(view(0, 3600.0, SHORT_S)) is None
    assert suspects(view(0, 3600.0, 3600.0)) == [0]


def test_a_rank_without_a_first_step_has_not_stalled() -> None:
    assert suspects(view(0, is_armed=False), view(1, is_armed=False)) is None


def test_a_stopped_rank_is_found_also_before_its_first_step() -> None:
    assert suspects(view(0, is_armed=False, is_stopped=True, silent_s=LONG_S)) == [0]


def test_of_ranks_in_collectives_those_that_are_behind_are_suspected() -> None:
    assert suspects(in_all_reduce(0), in_all_reduce(1, begun=8), in_all_reduce(2)) == [1]


def test_of_ranks_in_different_collectives_the_minority_is_suspected() -> None:
    assert suspects(in_all_reduce(0), in_all_reduce(1), view(2, begun=9, collective="barrier")) == [2]


def test_the_sentence_has_rank_host_collective_and_line() -> None:
    stall = Stall([view(1, line="train.py:3 in load")], [in_all_reduce(0), in_all_reduce(2)])
    assert describe(stall.suspects[0], stall, "n4") == (
        "rank 1 on n4 made no progress for 700 s at train.py:3 in load; "
        "ranks 0 and 2 wait in all_reduce at train.py:7 in main"
    )


def test_a_trace_is_read_from_py_spy() -> None:
    text = """Process 7: python train.py
Python v3.11.7 (/usr/bin/python3.11)

Thread 8 (idle): "bigbatch"
    wait (/usr/lib/python3.11/threading.py:331)
Thread 7 (active): "MainThread"
    load (/home/ann/train.py:3)
    timed (/runs/.tools/1/python/bigbatch/injected/torch_calls.py:9)
    main (/home/ann/train.py:12)
    <module> (/home/ann/train.py:20)
Thread 9 (idle): "pin"
    wait (/usr/lib/python3.11/threading.py:331)
"""
    assert trace_of(text) == (
        '  File "/home/ann/train.py", line 20, in <module>\n'
        '  File "/home/ann/train.py", line 12, in main\n'
        '  File "/home/ann/train.py", line 3, in load\n'
    )


def test_a_trace_is_read_from_faulthandler() -> None:
    text = """rank 0, process 7, stack of the training thread
  File "/home/ann/train.py", line 1, in old
Thread 0x00007f (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 331 in wait

Current thread 0x00007e (most recent call first):
  File "/home/ann/train.py", line 3 in load
  File "/home/ann/train.py", line 20 in <module>
"""
    assert trace_of(text) == (
        '  File "/home/ann/train.py", line 20, in <module>\n  File "/home/ann/train.py", line 3, in load\n'
    )


def test_a_trace_is_read_from_the_note_of_the_hook() -> None:
    text = """process 7, state T, stopped

noted before: rank 0, process 7, 2026-11-25 08:00:00 UTC: stack of the training thread
  File "/home/ann/train.py", line 20, in <module>
    main()
  File "/runs/.tools/1/python/bigbatch/injected/torch_calls.py", line 9, in timed
    return call()
  File "/home/ann/train.py", line 3, in load
    return read()
"""
    assert trace_of(text) == (
        '  File "/home/ann/train.py", line 20, in <module>\n  File "/home/ann/train.py", line 3, in load\n'
    )
