"""Wrong arguments of the fusion functions: each error names the argument and what is allowed."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

import sqe_fast.fusion
import sqe_fast.stats
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.fusion import fuse_rows, fuse_scores, merge_topk, rrf

IDS = np.arange(12, dtype=np.int32).reshape(1, 3, 4)
SCORES = IDS.astype(np.float32)


def with_value(array, place, value):
    changed = array.astype(np.result_type(array, type(value)))
    changed[place] = value
    return changed


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        (None, InvalidTypeError, r"ids must be an array of shape \[n, lists, depth\]; got None"),
        ("abc", InvalidTypeError, "ids must be an array.*got str"),
        (IDS[0], InvalidInputError, r"ids must have shape \[n, lists, depth\]; got shape \[3, 4\]"),
        (np.int32(3), InvalidInputError, r"ids must have shape.*got shape \[\]"),
        (np.zeros(0, np.int32), InvalidInputError, r"ids must have shape.*got shape \[0\]"),
        ([[[1, 2], [3]]], InvalidInputError, "ids must be a regular array.*`lengths`"),
        (IDS.astype(float), InvalidTypeError, "ids must hold integers; got dtype float64"),
        (IDS.astype(bool), InvalidTypeError, "ids must hold integers; got dtype bool"),
        ([[["a"]]], InvalidTypeError, "ids must hold integers"),
        ([[[None]]], InvalidTypeError, "ids must hold integers; got dtype object"),
        (
            with_value(IDS.astype(np.int64), (0, 1, 2), 2**31),
            InvalidInputError,
            "ids must fit int32.*2147483648",
        ),
        (with_value(IDS.astype(np.int64), (0, 1, 2), -(2**40)), InvalidInputError, "ids must fit int32"),
        (with_value(IDS, (0, 1, 2), -2), InvalidInputError, r"ids must be 0 or more.*got -2 at \[0, 1, 2\]"),
    ],
)
@pytest.mark.parametrize("function", ["rrf", "fuse_scores", "merge_topk"])
def test_ids(function, ids, error, message):
    message = message.replace("lists, depth", "shards, depth" if function == "merge_topk" else "lists, depth")
    scores = np.zeros(np.shape(ids), np.float32) if isinstance(ids, np.ndarray) else SCORES
    call = {
        "rrf": lambda: rrf(ids),
        "fuse_scores": lambda: fuse_scores(ids, scores),
        "merge_topk": lambda: merge_topk(ids, scores, k=3),
    }[function]
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("scores", "error", "message"),
    [
        (None, InvalidTypeError, "scores must be an array.*None"),
        (SCORES[:, :2], InvalidInputError, r"scores must have the shape of ids, \[1, 3, 4\].*\[1, 2, 4\]"),
        (SCORES[0], InvalidInputError, r"scores must have shape.*\[3, 4\]"),
        (SCORES > 1, InvalidTypeError, "scores must hold real numbers; got dtype bool"),
        (SCORES.astype(complex), InvalidTypeError, "scores must hold real numbers"),
        (
            with_value(SCORES, (0, 2, 1), np.nan),
            InvalidInputError,
            r"scores must be finite.*nan at \[0, 2, 1\]",
        ),
        (
            with_value(SCORES, (0, 0, 0), np.inf),
            InvalidInputError,
            r"scores must be finite.*inf at \[0, 0, 0\]",
        ),
        (with_value(SCORES.astype(float), (0, 0, 3), 1e300), InvalidInputError, "scores must be finite"),
    ],
)
def test_scores(scores, error, message):
    with pytest.raises(error, match=message):
        fuse_scores(IDS, scores)
    with pytest.raises(error, match=message):
        merge_topk(IDS, scores, k=2)


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        (SCORES[0], InvalidInputError, r"rows must have shape \[n, lists, n_docs\]; got shape \[3, 4\]"),
        (
            with_value(SCORES, (0, 2, 3), -np.inf),
            InvalidInputError,
            r"rows must be finite; got -inf at \[0, 2, 3\]",
        ),
        (
            np.tile(with_value(SCORES, (0, 1, 1), np.nan), 9),
            InvalidInputError,
            r"finite; got nan at \[0, 1, 1\]",
        ),
        ("x", InvalidTypeError, "rows must be an array"),
    ],
)
def test_rows(rows, error, message):
    with pytest.raises(error, match=message):
        fuse_rows(rows)


CALLS = {
    "rrf": lambda **options: rrf(IDS, **options),
    "fuse_scores": lambda **options: fuse_scores(IDS, SCORES, **options),
    "fuse_rows": lambda **options: fuse_rows(SCORES, **options),
    "merge_topk": lambda **options: merge_topk(IDS, SCORES, **{"k": 5, **options}),
}
LISTS = ("rrf", "fuse_scores")


@pytest.mark.parametrize(
    ("functions", "options", "error", "message"),
    [
        (CALLS, {"k": 0}, InvalidInputError, "k must be from 1 to 2147483647; got 0"),
        (CALLS, {"k": -1}, InvalidInputError, "k must be from 1"),
        (CALLS, {"k": True}, InvalidTypeError, "k must be an int"),
        (CALLS, {"k": 2.0}, InvalidTypeError, "k must be an int"),
        (CALLS, {"threads": 0}, InvalidInputError, "threads must be from 1 to 1024; got 0"),
        (CALLS, {"threads": "2"}, InvalidTypeError, "threads must be an int"),
        (["rrf"], {"constant": -0.5}, InvalidInputError, "constant must be a finite number >= 0"),
        (["rrf"], {"constant": np.nan}, InvalidInputError, "constant must be"),
        (["rrf"], {"constant": np.inf}, InvalidInputError, "constant must be"),
        (["rrf"], {"constant": "60"}, InvalidTypeError, "constant must be a number"),
        (["rrf"], {"duplicates": "max"}, InvalidInputError, "duplicates must be one of best, sum; got 'max'"),
        (
            ["fuse_scores", "fuse_rows"],
            {"how": "rank"},
            InvalidInputError,
            "how must be one of zscore, minmax",
        ),
        (["fuse_scores", "fuse_rows"], {"how": None}, InvalidTypeError, "how must be one of"),
        (["fuse_scores"], {"absent": "mean"}, InvalidInputError, "absent must be one of min, zero"),
        (
            LISTS,
            {"lengths": [[1, 2, 5]]},
            InvalidInputError,
            "lengths must be from 0 to the depth of ids, 4; got 5",
        ),
        (LISTS, {"lengths": [1, -1, 2]}, InvalidInputError, "lengths must be from 0.*got -1"),
        (
            LISTS,
            {"lengths": [[1, 2]]},
            InvalidInputError,
            r"lengths must have shape.*\[1, 3\].*got shape \[1, 2\]",
        ),
        (LISTS, {"lengths": [[1], [2, 3]]}, InvalidInputError, "lengths must be a regular array"),
        (LISTS, {"lengths": 3}, InvalidInputError, "lengths must have shape"),
        (LISTS, {"lengths": [1.0, 2.0, 3.0]}, InvalidTypeError, "lengths must hold integers"),
        (
            [*LISTS, "fuse_rows"],
            {"weights": [1, 2]},
            InvalidInputError,
            r"weights must be one number a list.*\[2\]",
        ),
        ([*LISTS, "fuse_rows"], {"weights": [1, -2, 1]}, InvalidInputError, "weights must be finite.*-2"),
        (
            [*LISTS, "fuse_rows"],
            {"weights": [1, np.nan, 1]},
            InvalidInputError,
            "weights must be finite.*nan",
        ),
        ([*LISTS, "fuse_rows"], {"weights": [1, 1e31, 1]}, InvalidInputError, "weights must be finite"),
        ([*LISTS, "fuse_rows"], {"weights": "abc"}, InvalidTypeError, "weights must be one number a list"),
        ([*LISTS, "fuse_rows"], {"weights": [[1], [2, 3]]}, InvalidInputError, "weights must be.*lengths"),
        ([*LISTS, "fuse_rows"], {"weights": 1.0}, InvalidInputError, "weights must be one number a list"),
    ],
)
def test_options(functions, options, error, message):
    for name in functions:
        with pytest.raises(error, match=message):
            CALLS[name](**options)


def test_lengths_for_all_queries_at_once():
    ids = np.tile(IDS, (3, 1, 1))
    a, b = rrf(ids, [1, 0, 2], k=4), rrf(ids, [[1, 0, 2]] * 3, k=4)
    np.testing.assert_array_equal(a.ids, b.ids)
    assert a.ids[0].tolist() == [0, 8, 9, -1]


@pytest.mark.parametrize("module", [sqe_fast.fusion, sqe_fast.stats])
def test_examples_of_the_docstrings(module):
    failed, tried = doctest.testmod(module)
    assert tried
    assert not failed
    if module is sqe_fast.fusion:  # doctest does not look into C functions by itself
        examples = doctest.DocTestParser().get_doctest(
            module.rrf_lists.__doc__, vars(module).copy(), "rrf_lists", None, 0
        )
        assert doctest.DocTestRunner().run(examples).failed == 0
