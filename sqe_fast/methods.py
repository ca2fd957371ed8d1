"""Methods as data: which lists are fused, and when a question is expanded. The SQE protocol's, and ours."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from sqe_fast._checks import describe
from sqe_fast._method import FUSIONS, Method, Source, Stage, probe_name
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.gate.accept import Accept
from sqe_fast.gate.gates import (
    AlwaysGate,
    NeverGate,
    OracleGate,
    RandomGate,
    StreamingGate,
    ThresholdGate,
)

__all__ = ["FUSIONS", "METHODS", "PLUS", "Method", "Source", "Stage", "get_method", "probe_name"]

QUESTION_DENSE = Source("question", ("dense",))
QUESTION_BM25 = Source("question", ("bm25",))
QUESTION_BOTH = Source("question", ("dense", "bm25"))
TRACES = Source("traces", ("dense", "bm25"))
PARAPHRASES = Source("paraphrases", ("dense",))


_ALL = (TRACES, PARAPHRASES)

METHODS: Mapping[str, Method] = MappingProxyType(
    {
        method.name: method
        for method in (
            Method("Dense-Only", "dense", NeverGate(), (QUESTION_DENSE,)),
            Method("BM25-Only", "bm25", NeverGate(), (QUESTION_BM25,)),
            Method("Hybrid-RRF", "hybrid", NeverGate(), (QUESTION_BOTH,)),
            Method("Paraphrases-Only", "paraphrases", AlwaysGate(), (QUESTION_DENSE,), (PARAPHRASES,)),
            Method("HyDE-Traces-Only", "traces", AlwaysGate(), (QUESTION_DENSE,), (TRACES,)),
            Method("Always-Expand", "always", AlwaysGate(), (QUESTION_DENSE,), _ALL),
            Method("Random-Gated-Expansion", "random", RandomGate(), (QUESTION_DENSE,), _ALL),
            Method("Selective-QE", "sqe", ThresholdGate(), (QUESTION_DENSE,), _ALL),
            Method("Oracle", "oracle", OracleGate(), (QUESTION_DENSE,), _ALL),
        )
    }
)
"""The eight methods and the oracle, by name."""

# The deciles of fused_spread over the questions of the dev set: where the first questions of a stream stand
# before there are others to compare them with.
_FUSED_SPREAD = (0.70, 0.91, 1.06, 1.27, 1.52, 1.74, 2.03, 2.29, 3.00)
_SCORES: dict[str, Any] = {"fusion": "zscore", "weights": {"* bm25": 0.7}, "tokenizer": "code"}

PLUS: Mapping[str, Method] = MappingProxyType(
    {
        method.name: method
        for method in (
            Method("Hybrid-Plus", "hybrid+", NeverGate(), (QUESTION_BOTH,), **_SCORES),
            Method(
                "SQE-Plus",
                "sqe+",
                StreamingGate(rate=0.45, signal="fused_spread", window=200, history=_FUSED_SPREAD),
                (QUESTION_BOTH,),
                (TRACES,),
                K=1,
                accept=Accept.parse("lift >= 2.5"),
                **_SCORES,
            ),
        )
    }
)
"""Our best for agent memory, by name, chosen on the dev set only; docs/quality.md has the reasons.

SQE-Plus expands the 45 % of a stream of questions whose fused scores stand out least, by one imagined trace,
and takes the trace's lists only where it rises above the question. Hybrid-Plus is the same without a model.
Neither depends on the scale of an encoder's scores.
"""

_ALL_METHODS = (*METHODS.values(), *PLUS.values())
_BY_NAME = {key.casefold(): m for m in _ALL_METHODS for key in (m.name, m.alias)}


def get_method(method: str | Method, **numbers: Any) -> Method:
    """Return a method, with other numbers where given.

    Parameters
    ----------
    method : str or Method
        A name of `METHODS` or `PLUS` or its alias (dense, bm25, hybrid, paraphrases, traces, always, random,
        sqe, oracle, hybrid+, sqe+), in any case; or a method to change.
    numbers
        Those of `Method.numbers`: k; depth and constant where lists are fused; K and P where there are traces
        and paraphrases; and what the gate has (threshold and signal, rate and seed, at). And those of
        `Method.choices`: fusion, weights and weigh_by where lists are fused, accept and stages where there
        are traces or paraphrases. Tokenizer and variant of BM25 are pinned by the store.

    Raises
    ------
    InvalidInputError, InvalidTypeError
        There is no such method, it has no such number, or the value is not allowed.

    Examples
    --------
    >>> get_method("sqe", threshold=0.6).gate
    ThresholdGate(threshold=0.6, signal='top1', direction='below')
    >>> get_method("traces", K=1).list_names
    ('question dense', 'trace 1 dense', 'trace 1 bm25')
    """
    if isinstance(method, Method):
        found = method
    elif not isinstance(method, str):
        raise InvalidTypeError(f"method must be a name or a Method; got {describe(method)}")
    elif method.casefold() in _BY_NAME:
        found = _BY_NAME[method.casefold()]
    else:
        known = ", ".join(f"{m.alias} ({m.name})" for m in _ALL_METHODS)
        raise InvalidInputError(f"method must be one of {known}; got {method!r}")
    return found.changed(**numbers) if numbers else found
