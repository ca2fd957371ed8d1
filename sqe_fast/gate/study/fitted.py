"""From a ranking and a share to a gate that can be used, and kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from sqe_fast._checks import check_choice, check_number
from sqe_fast.gate.gates import LearnedGate, RateGate, StreamingGate, ThresholdGate
from sqe_fast.gate.study.folds import fit_cut
from sqe_fast.gate.study.outcomes import Outcomes
from sqe_fast.gate.study.rankings import Ranking

__all__ = ["GATE_FORMS", "fit_gate"]

GATE_FORMS = ("threshold", "rate", "stream")
HISTORY = 101  # quantiles that a stream begins with


def fit_gate(
    outcomes: Outcomes, ranking: Ranking, share: float, form: str = "threshold"
) -> ThresholdGate | LearnedGate | RateGate | StreamingGate:
    """Return a gate that expands a share of questions like these.

    Parameters
    ----------
    outcomes : Outcomes
        The questions that the gate is fitted on; their answers are not looked at.
    ranking : Ranking
    share : float
    form : {"threshold", "rate", "stream"}
        A fixed threshold, which expands more of other questions that are needier; a share of each batch,
        whatever is in it; or a share of a stream, whose memory begins with these questions.

    Examples
    --------
    >>> outcomes = Outcomes({"top1": [0.3, 0.5, 0.6, 0.8]}, [False] * 4, [True] * 4)
    >>> gate = fit_gate(outcomes, Ranking("top1"), 0.5)
    >>> gate.start()({"top1": np.float32([0.3, 0.5, 0.6, 0.8])}, 4).tolist()
    [True, True, False, False]
    """
    check_choice("form", form, GATE_FORMS)
    share = check_number("share", share, 0, 1)
    score = ranking(outcomes)
    by: dict[str, Any] = {"direction": "above" if ranking.descending else "below", "signal": ranking.signal}
    by = by if ranking.model is None else {"model": ranking.model}
    if form == "rate":
        return RateGate(rate=share, **by)
    # Scores are negated gains, or signals that are negated where they descend.
    raw = -score if ranking.model is not None or ranking.descending else score
    if form == "stream":
        known = raw[np.isfinite(raw)]
        history = np.quantile(known, np.linspace(0, 1, HISTORY)) if len(known) else known
        return StreamingGate(rate=share, history=tuple(history.tolist()), **by)
    threshold = float(_edge(score, share))
    if ranking.model is not None:
        return LearnedGate(ranking.model, -threshold)
    return ThresholdGate(-threshold if ranking.descending else threshold, **by)


def _edge(score: np.ndarray[Any, np.dtype[np.float64]], share: float) -> float:
    """Return the number below which a share of the scores lies: between two scores, away from either."""
    cut = fit_cut(score, share)
    known = np.unique(score[np.isfinite(score)])
    if not len(known):
        return 0.0
    # Gates cannot toss a coin: scores that sit on the cut go where most of them belong.
    last = known[known <= cut.threshold] if cut.at >= 0.5 else known[known < cut.threshold]
    following = known[len(last) :]
    if not len(last):
        return float(known[0])
    if not len(following):
        return float(np.nextafter(last[-1], np.inf) + 1e-6 * abs(last[-1]))
    return float((last[-1] + following[0]) / 2)
