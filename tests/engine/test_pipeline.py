"""The next chunk begins while a model works on this one; shown by the order of calls, not by time."""

from __future__ import annotations

import threading

import pytest

from sqe_fast._engine.pipeline import overlapped


def test_the_next_first_stage_runs_before_the_second_ends():
    begun = {n: threading.Event() for n in range(5)}
    order = []

    def first(n):
        begun[n].set()
        order.append(("first", n))
        return n

    def second(n):
        # Ends only when the first stage of the next chunk has begun: without overlap it never would.
        assert n == 4 or begun[n + 1].wait(30)
        return n * 10

    def third(n, made):
        order.append(("third", n))
        return n, made

    assert list(overlapped(range(5), first, second, third)) == [(n, n * 10) for n in range(5)]
    assert order == [
        ("first", 0),
        *(step for n in range(4) for step in (("first", n + 1), ("third", n))),
        ("third", 4),
    ]


def test_reads_one_chunk_ahead_and_no_more():
    read = []

    def chunks():
        for n in range(100):
            read.append(n)
            yield n

    results = overlapped(chunks(), lambda n: n, lambda n: n, lambda n, _: n)
    for expected in range(5):
        assert next(results) == expected
        assert len(read) == expected + 2
    results.close()
    assert len(read) == 6


def test_without_chunks():
    assert list(overlapped([], lambda n: n, lambda n: n, lambda n, _: n)) == []


@pytest.mark.parametrize("stage", [0, 1, 2])
def test_an_error_of_any_stage_comes_out_and_ends_the_thread(stage):
    def fail(*_):
        raise ArithmeticError(f"stage {stage}")

    stages = [lambda n: n, lambda n: n, lambda n, _: n]
    stages[stage] = fail
    with pytest.raises(ArithmeticError, match=f"stage {stage}"):
        list(overlapped(range(3), *stages))
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("sqe-expand")]
