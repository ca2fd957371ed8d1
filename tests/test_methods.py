"""The methods as data: the release's names, their lists in order, and what may be changed."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.gate import RandomGate, ThresholdGate
from sqe_fast.methods import METHODS, PLUS, Method, Source, get_method

ALIASES = {
    "dense": "Dense-Only",
    "bm25": "BM25-Only",
    "hybrid": "Hybrid-RRF",
    "paraphrases": "Paraphrases-Only",
    "traces": "HyDE-Traces-Only",
    "always": "Always-Expand",
    "random": "Random-Gated-Expansion",
    "sqe": "Selective-QE",
    "oracle": "Oracle",
}
TRACES = ["trace 1 dense", "trace 1 bm25", "trace 2 dense", "trace 2 bm25"]
PARAPHRASES = ["paraphrase 1 dense", "paraphrase 2 dense"]


def test_names_and_aliases():
    assert {method.alias: name for name, method in METHODS.items()} == ALIASES
    for alias, name in ALIASES.items():
        assert get_method(alias) is get_method(name) is get_method(name.upper()) is METHODS[name]


def test_ours_stand_beside_the_protocols():
    assert {method.alias: name for name, method in PLUS.items()} == {
        "hybrid+": "Hybrid-Plus",
        "sqe+": "SQE-Plus",
    }
    assert not set(PLUS) & set(METHODS)
    for alias, name in (("hybrid+", "Hybrid-Plus"), ("sqe+", "SQE-Plus")):
        assert get_method(alias) is get_method(name) is get_method(alias.upper()) is PLUS[name]
    best, free = PLUS["SQE-Plus"], PLUS["Hybrid-Plus"]
    assert (best.lists, best.fusion, best.weights) == (free.lists, free.fusion, free.weights)
    assert best.list_names == ("question dense", "question bm25", "trace 1 dense", "trace 1 bm25")
    assert best.list_weights == (1, 0.7, 1, 0.7)
    assert best.wants == (1, 0)
    assert free.wants == (0, 0)
    assert get_method("sqe+", rate=0.3, K=2).gate.rate == 0.3


@pytest.mark.parametrize(
    ("alias", "lists"),
    [
        ("dense", ["question dense"]),
        ("bm25", ["question bm25"]),
        ("hybrid", ["question dense", "question bm25"]),
        ("paraphrases", ["question dense", *PARAPHRASES]),
        ("traces", ["question dense", *TRACES]),
        ("always", ["question dense", *TRACES, *PARAPHRASES]),
        ("random", ["question dense", *TRACES, *PARAPHRASES]),
        ("sqe", ["question dense", *TRACES, *PARAPHRASES]),
        ("oracle", ["question dense", *TRACES, *PARAPHRASES]),
    ],
)
def test_lists_in_the_order_of_the_protocol(alias, lists):
    assert list(get_method(alias).list_names) == lists


def test_the_protocols_numbers():
    sqe = get_method("sqe", k=10)
    assert sqe.numbers == {
        "k": 10,
        "depth": None,
        "constant": 60.0,
        "K": 2,
        "P": 2,
        "threshold": 0.65,
        "signal": "top1",
        "direction": "below",
    }
    assert sqe.list_depth == 20
    assert get_method("random").gate == RandomGate(0.46, 42)


def test_every_number_can_be_changed():
    changed = get_method("sqe", threshold=0.6, signal="spread", K=3, P=0, k=4, depth=9, constant=1)
    assert changed.gate == ThresholdGate(0.6, "spread")
    assert (changed.K, changed.P, changed.k, changed.list_depth, changed.constant) == (3, 0, 4, 9, 1)
    assert changed.wants == (3, 0)
    assert len(changed.list_names) == 7
    assert get_method(changed) is changed
    assert get_method("random", rate=0.1, seed=7).gate == RandomGate(0.1, 7)
    assert METHODS["Selective-QE"].gate == ThresholdGate(0.65)
    with pytest.raises(FrozenInstanceError):
        changed.k = 3


@pytest.mark.parametrize(
    ("name", "numbers", "error", "message"),
    [
        ("sqe2", {}, InvalidInputError, "method must be one of dense .Dense-Only., bm25"),
        (7, {}, InvalidTypeError, "method must be a name or a Method; got int 7"),
        ("dense", {"threshold": 0.5}, InvalidInputError, "Dense-Only has no 'threshold'; it takes k$"),
        ("dense", {"name": "x"}, InvalidInputError, "Dense-Only has no 'name'"),
        ("hybrid+", {"accept": "lift >= 2"}, InvalidInputError, "Hybrid-Plus has no 'accept'"),
        ("hybrid", {"stages": ()}, InvalidInputError, "Hybrid-RRF has no 'stages'"),
        ("hybrid", {"K": 1}, InvalidInputError, "no 'K'; it takes k, depth, constant, fusion,"),
        ("traces", {"P": 1}, InvalidInputError, "no 'P'; it takes k, depth, constant, K, fusion,"),
        ("sqe", {"tokenizer": "code"}, InvalidInputError, "no 'tokenizer'; it takes k, depth"),
        ("sqe", {"k": 0}, InvalidInputError, "k must be from 1"),
        ("sqe", {"k": 2.5}, InvalidTypeError, "k must be an int"),
        ("sqe", {"depth": 4}, InvalidInputError, "depth must be at least k, 5; got 4"),
        ("sqe", {"constant": -1}, InvalidInputError, "constant must be a finite number >= 0"),
        ("sqe", {"K": -1}, InvalidInputError, "K must be from 0"),
        ("sqe", {"threshold": "low"}, InvalidTypeError, "threshold must be a number"),
        ("random", {"rate": 2}, InvalidInputError, "rate must be a finite number from 0 to 1"),
    ],
)
def test_refuses_by_name(name, numbers, error, message):
    with pytest.raises(error, match=message):
        get_method(name, **numbers)


def test_refuses_methods_that_make_no_sense():
    dense = METHODS["Dense-Only"]
    with pytest.raises(InvalidInputError, match="lists must be of the question"):
        replace(dense, lists=())
    with pytest.raises(InvalidInputError, match="lists must be of the question"):
        replace(dense, lists=(Source("traces", ("dense",)),))
    with pytest.raises(InvalidInputError, match="added lists must be of traces or paraphrases"):
        replace(dense, added=dense.lists)


def test_a_gate_may_need_an_index_that_the_lists_do_not():
    plain = get_method("sqe")
    assert plain.question_indexes == {"dense"}
    assert get_method("sqe", signal="agreement").question_indexes == {"dense", "bm25"}
    sparse = Method("x", "x", ThresholdGate(), (Source("question", ("bm25",)),))
    assert sparse.question_indexes == {"dense", "bm25"}
