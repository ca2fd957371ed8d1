"""Fusion of Python lists: bit for bit the dict loop, whatever the ids are and do."""

from __future__ import annotations

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.fusion import rrf_lists
from tests.oracles.fusion import reference_loop

STRINGS = st.sampled_from(["", "a", "b", "ab", "é", "日本", "\U0001f600", "\ud800", "x" * 100, "ep_000001"])
ANY_ID = st.one_of(
    STRINGS, st.integers(-3, 3), st.booleans(), st.floats(allow_nan=False), st.none(), st.tuples(STRINGS)
)


def lists_of(ids):
    return st.lists(st.lists(st.tuples(ids, st.none())), max_size=8)


@given(lists_of(STRINGS), st.integers(1, 40), st.sampled_from([0, 1, 60, 60.0, 0.3, 1e6]))
def test_equals_the_loop_on_strings(lists, k, constant):
    assert rrf_lists(lists, k, constant) == reference_loop(lists, k, constant)


@given(lists_of(ANY_ID), st.integers(1, 40))
def test_equals_the_loop_on_any_hashable(lists, k):
    """1, True and 1.0 are one id, and the object that was seen first is returned."""
    got, wanted = rrf_lists(lists, k), reference_loop(lists, k)
    assert got == wanted
    assert all(a[0] is b[0] for a, b in zip(got, wanted, strict=True))


@pytest.mark.parametrize(("depth", "n_docs"), [(10, 20), (100, 150), (100, 10**6), (2000, 2500)])
def test_equals_the_loop_at_usual_sizes(depth, n_docs):
    step = 7919
    lists = [
        [(f"ep_{(m * 31 + j * (m + 1) * step) % n_docs:06d}", -j) for j in range(depth)] for m in range(6)
    ]
    for k in (1, 5, 16, 17, 100, 10**6):
        assert rrf_lists(lists, k) == reference_loop(lists, k)


def test_equal_strings_need_not_be_one_object():
    lists = [[("".join(["a", "b"]), 1.0)], [("".join(["a", "b"]), 2.0)]]
    (found,) = rrf_lists(lists)
    assert found == ("ab", 1 / 61 + 1 / 61)
    assert found[0] is lists[0][0][0]


def test_lists_and_tuples_at_every_level():
    pairs = [["a", 1], ("b", 2)]
    wanted = [("a", 1 / 61), ("b", 1 / 62)]
    assert rrf_lists([pairs]) == rrf_lists((tuple(pairs),)) == rrf_lists(lists=[pairs]) == wanted


def test_repeats_inside_one_list():
    lists = [[("a", 3), ("b", 2), ("b", 1)]]
    assert rrf_lists(lists) == reference_loop(lists, 5)
    assert rrf_lists(lists, duplicates="best") == [("a", 1 / 61), ("b", 1 / 62)]


def test_nan_is_found_by_identity_as_in_a_dict():
    nan = math.nan
    lists = [[(nan, 0), (float("nan"), 0)], [(nan, 0)]]
    assert [s for _, s in rrf_lists(lists)] == [s for _, s in reference_loop(lists, 5)]


def test_ids_that_change_the_lists_while_they_are_compared():
    lists: list = []

    class Mean:
        def __hash__(self):
            lists.clear()
            return 1

        def __eq__(self, other):
            for lst in lists:
                lst.clear()
            return False

    lists.extend([[(Mean(), 0.0) for _ in range(5)] for _ in range(5)])
    assert len(rrf_lists(lists, 100)) == 25


def test_an_id_may_call_back():
    class Nested:
        def __hash__(self):
            rrf_lists([[("a", 1), ("b", 2)]] * 3)
            return 5

    assert len(rrf_lists([[(Nested(), 0), ("a", 0)]])) == 2


@pytest.mark.parametrize("where", ["__hash__", "__eq__"])
def test_exceptions_of_ids_come_through(where):
    class Broken:
        def __hash__(self):
            if where == "__hash__":
                raise KeyError("own")
            return 1

        def __eq__(self, other):
            raise KeyError("own")

    with pytest.raises(KeyError, match="own"):
        rrf_lists([[(Broken(), 0), (Broken(), 0)]])


def test_no_reference_is_lost_or_kept():
    class Id:
        pass

    ids = [object() for _ in range(30)] + [Id() for _ in range(3)] + [f"{'x' * n}{n}" for n in range(30)]
    before = [sys.getrefcount(i) for i in ids]
    texts = [[(i, 0.0) for i in ids if isinstance(i, str)]] * 2
    for lists in ([[(i, 0.0) for i in ids]] * 3, texts):
        for _ in range(50):
            rrf_lists(lists, 7)
            with pytest.raises(InvalidTypeError):
                rrf_lists([*lists, [(ids[0], 1), ([], 1)]], 7)
    del lists, texts
    assert [sys.getrefcount(i) for i in ids] == before


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        (None, "lists must be a list or tuple of lists.*None"),
        ("abc", "lists must be a list.*str"),
        ({"a": 1}, "lists must be a list.*dict"),
        ([[("a", 1)], None], r"lists\[1\] must be a list or tuple.*None"),
        (["ab"], r"lists\[0\] must be a list or tuple.*str"),
        ([("a", 1)], r"lists\[0\] must be a list or tuple|lists\[0\]\[0\]"),
        ([[("a", 1), "bc"]], r"lists\[0\]\[1\] must be an \(id, score\) pair.*str"),
        ([[("a",)]], r"lists\[0\]\[0\] must be an \(id, score\) pair.*tuple of length 1"),
        ([[], [["a", 1, 2]]], r"lists\[1\]\[0\] must be .*list of length 3"),
        ([[None]], r"lists\[0\]\[0\] must be .*None"),
        ([[("a", 1)], [("b", 1), ([], 1)]], r"lists\[1\]\[1\]: id must be hashable.*list"),
    ],
)
def test_malformed_lists_are_refused_by_place(lists, message):
    with pytest.raises(InvalidTypeError, match=message):
        rrf_lists(lists)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"k": 0}, InvalidInputError, "k must be from 1 to 2147483647; got 0"),
        ({"k": -4}, InvalidInputError, "k must be .*-4"),
        ({"k": 2**70}, InvalidInputError, "k must be"),
        ({"k": True}, InvalidTypeError, "k must be an int; got bool"),
        ({"k": 1.0}, InvalidTypeError, "k must be an int; got float"),
        ({"k": None}, InvalidTypeError, "k must be an int; got None"),
        ({"constant": -1}, InvalidInputError, "constant must be a finite number >= 0"),
        ({"constant": math.nan}, InvalidInputError, "constant must be a finite"),
        ({"constant": math.inf}, InvalidInputError, "constant must be a finite"),
        ({"constant": 10**400}, InvalidInputError, "constant must be a finite"),
        ({"constant": "60"}, InvalidTypeError, "constant must be a number; got str"),
        ({"constant": True}, InvalidTypeError, "constant must be a number; got bool"),
        ({"duplicates": "first"}, InvalidInputError, "duplicates must be one of best, sum; got 'first'"),
        ({"duplicates": None}, InvalidTypeError, "duplicates must be one of best, sum; got None"),
        ({"depth": 1}, TypeError, "unexpected keyword argument 'depth'"),
        ({"lists": []}, TypeError, "multiple values for argument 'lists'"),
    ],
)
def test_wrong_arguments_are_refused_by_name(arguments, error, message):
    with pytest.raises(error, match=message):
        rrf_lists([[("a", 1)]], **arguments)


def test_number_of_arguments():
    with pytest.raises(TypeError, match="missing 1 required argument: 'lists'"):
        rrf_lists()
    with pytest.raises(TypeError, match="at most 4 arguments"):
        rrf_lists([], 1, 2, "sum", 4)


def test_signature_and_docstring_are_there():
    import inspect

    assert str(inspect.signature(rrf_lists)) == "(lists, k=5, constant=60.0, duplicates='sum')"
    assert "first seen" in rrf_lists.__doc__
