"""Text into HTML: nothing that comes from data is ever markup."""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any

__all__ = ["attribute", "json_block", "slug", "text"]

# What HTML cannot hold: control characters, halves of surrogate pairs, and two that are no characters.
_NO_HTML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_SURROGATES = re.compile("[\ud800-\udfff]")


def text(value: object) -> str:
    """Return `value` as HTML text; what HTML cannot hold becomes U+FFFD.

    Examples
    --------
    >>> text("a < b & c")
    'a &lt; b &amp; c'
    """
    return escape(_NO_HTML.sub("\ufffd", str(value)), quote=False)


def attribute(value: object) -> str:
    """Return `value` for an attribute in double quotes."""
    return escape(_NO_HTML.sub("\ufffd", str(value)), quote=True)


def slug(value: str) -> str:
    """Return `value` for an id: letters, digits and hyphens.

    Examples
    --------
    >>> slug("Gate curves (R@5)")
    'gate-curves-r-5'
    """
    return re.sub(r"[^a-z0-9]+", "-", value.casefold()).strip("-") or "part"


def json_block(value: Any) -> str:
    r"""Return `value` as compact JSON that may stand in a ``<script>`` element.

    Every ``<`` is written ``\u003c``, so neither ``</script>`` nor ``<!--`` can end or open anything; halves
    of surrogate pairs are escaped, so that the text can be encoded as UTF-8. `JSON.parse` gives the value
    back.

    Examples
    --------
    >>> json_block({"query": "</script>"})
    '{"query":"\\u003c/script>"}'
    """
    plain = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _SURROGATES.sub(lambda found: f"\\u{ord(found[0]):04x}", plain.replace("<", "\\u003c"))
