"""A figure in its frame: the drawing for wide pages and for narrow ones, and the caption."""

from __future__ import annotations

from sqe_fast.experiment.page.html import attribute, text

__all__ = ["figure_html", "missing_html"]


def figure_html(id: str, wide: str, narrow: str, title: str, note: str = "") -> str:
    """Return a ``<figure>`` with both drawings, of which the page's style shows the one that fits."""
    return "\n".join(
        [
            f'<figure id="{attribute(id)}">',
            f'<div class="drawing wide">{wide}</div>',
            f'<div class="drawing narrow">{narrow}</div>',
            f"<figcaption><b>{text(title)}.</b> {text(note)}</figcaption>",
            "</figure>",
        ]
    )


def missing_html(id: str, title: str, why: str) -> str:
    """Return what stands in the place of a figure that cannot be drawn."""
    return f'<p class="missing" id="{attribute(id)}"><b>{text(title)}.</b> Not drawn: {text(why)}</p>'
