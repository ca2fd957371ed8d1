"""The evidence study shows as many passages as it says, from the lists it says."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bench.evidence import any_of, dealt, fused, recall, shares, steps, turns
from sqe_fast.fusion import rrf_lists

LISTS = st.lists(st.lists(st.integers(0, 30), unique=True, min_size=12, max_size=12), min_size=1, max_size=4)


@given(LISTS, st.integers(1, 6))
def test_a_turn_never_shows_more_than_k(lists: list[list[int]], k: int) -> None:
    for shown in (shares(lists, k), dealt(lists, k), fused([lists], k)[0]):
        assert len(shown) == len(set(shown)) <= k
    assert len(dealt(lists, k)) == k
    assert dealt(lists[:1], k) == lists[0][:k] == shares(lists[:1], k)


@given(LISTS, st.integers(1, 6))
def test_fusion_is_that_of_one_question_alone(lists: list[list[int]], k: int) -> None:
    alone = rrf_lists([[(row, 0.0) for row in ids[: 2 * k]] for ids in lists], k=k)
    assert fused([lists, lists[:1]], k)[0] == [row for row, _ in alone]


def test_shares_and_deals_of_three_lists() -> None:
    lists = [[1, 2, 3, 4], [1, 5, 6, 7], [8, 9, 2, -1]]
    assert shares(lists, 6) == [1, 2, 5, 8, 9]
    assert shares(lists, 4) == [1, 2, 8]
    assert dealt(lists, 6) == [1, 8, 2, 5, 9, 3]


def test_measures() -> None:
    shown, wanted = [[1, 2], [3]], [{1, 9}, {4}]
    assert recall(shown, wanted).tolist() == [0.5, 0.0]
    assert any_of(shown, wanted).tolist() == [1.0, 0.0]


def test_sub_questions_that_need_an_answer_wait_or_get_it() -> None:
    query = {
        "text": "Who led the maker of X?",
        "decomposition": [
            {"question": "X >> maker", "answer": "Acme"},
            {"question": "Who led #1 ?", "answer": "Ann"},
        ],
    }
    assert steps(query, False) == ("Who led the maker of X?", "X maker")
    assert steps(query, True) == ("Who led the maker of X?", "X maker", "Who led Acme ?")


def test_every_query_is_looked_up_once_in_one_batch() -> None:
    calls: list[list[str]] = []

    def search(queries: list[str], depth: int) -> np.ndarray:
        calls.append(list(queries))
        return np.tile(np.arange(depth, dtype=np.int32), (len(queries), 1))

    found = turns(search, [("a", "b"), ("b",)], [1, 2])
    assert calls == [["a", "b"]]
    assert found["dealt", 2] == [[0, 1], [0, 1]]
