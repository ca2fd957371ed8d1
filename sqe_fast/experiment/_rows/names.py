"""The release's names of its methods' files."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sqe_fast.experiment.layout import ROWS
from sqe_fast.methods import METHODS, Method

__all__ = ["METHOD_FILES", "file_of", "method_of"]

METHOD_FILES: Mapping[str, str] = MappingProxyType(
    {
        "Dense-Only": f"dense_only{ROWS}",
        "BM25-Only": f"bm25_only{ROWS}",
        "Hybrid-RRF": f"hybrid_rrf{ROWS}",
        "Paraphrases-Only": f"paraphrases_only{ROWS}",
        "HyDE-Traces-Only": f"traces_only{ROWS}",
        "Always-Expand": f"always_expand{ROWS}",
        "Random-Gated-Expansion": f"random_budget{ROWS}",
        "Selective-QE": f"proposed{ROWS}",
    }
)
"""The release's file of each of its methods; any other method is in ``ALIAS_detailed.jsonl``."""

_NAME_OF = {file: name for name, file in METHOD_FILES.items()}


def file_of(method: Method) -> str:
    """Return the name of the file that holds the rows of a method.

    Examples
    --------
    >>> from sqe_fast.methods import get_method
    >>> file_of(get_method("sqe")), file_of(get_method("oracle"))
    ('proposed_detailed.jsonl', 'oracle_detailed.jsonl')
    """
    return METHOD_FILES.get(method.name, f"{method.alias}{ROWS}")


def method_of(file: str, told: object = None) -> str:
    """Return the name of the method whose rows are in `file`; `told` is what they say themselves."""
    if file in _NAME_OF:
        return _NAME_OF[file]
    if isinstance(told, str):
        return told
    alias = file.removesuffix(ROWS)
    return next((method.name for method in METHODS.values() if method.alias == alias), alias)
