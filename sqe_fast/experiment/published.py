"""The numbers of the published analysis: grids of thresholds, depths of recall, budgets, baselines."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = [
    "BASELINES",
    "FEATURE_POLICIES",
    "GATE_THRESHOLD",
    "LOO_THRESHOLDS",
    "MAX_EXPANSION_RATE",
    "RECALL_DEPTHS",
    "SPLIT_THRESHOLDS",
    "SWEEP_THRESHOLDS",
    "VARIANT_POLICIES",
]


def _grid(first: int, last: int, step: int, scale: int) -> tuple[float, ...]:
    """Return decimals first/scale to last/scale: each the float nearest to what one would write."""
    return tuple(value / scale for value in range(first, last + 1, step))


RECALL_DEPTHS = (1, 5, 10)
GATE_THRESHOLD = 0.65
MAX_EXPANSION_RATE = 0.55  # of the questions that a gate chosen on other data may expand

SWEEP_THRESHOLDS = (0.45, 0.50, 0.55, 0.60, 0.62, 0.64, 0.65, 0.66, 0.68, 0.70, 0.75, 0.80)
SPLIT_THRESHOLDS = _grid(45, 80, 5, 100)
LOO_THRESHOLDS = _grid(45, 80, 1, 100)

BASELINES = (
    "Dense-Only",
    "Hybrid-RRF",
    "Always-Expand",
    "Random-Gated-Expansion",
    "Paraphrases-Only",
    "HyDE-Traces-Only",
)
"""What Selective-QE is compared with, in the order of the published table."""

VARIANT_POLICIES = ("score_only", "score_and_no_bm25_agreement", "score_or_no_bm25_agreement")

FEATURE_POLICIES: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {
        "top1_low": SPLIT_THRESHOLDS,
        "margin_low": _grid(5, 100, 5, 1000),
        "concentration_low": _grid(20, 70, 5, 100),
        "top1_low_or_no_bm25_agreement": SPLIT_THRESHOLDS,
        "margin_low_or_no_bm25_agreement": _grid(5, 100, 5, 1000),
    }
)
"""Each gate feature with its thresholds: expand where the feature is below one (or there is no agreement)."""
