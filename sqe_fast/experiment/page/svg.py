"""A small kit to draw charts as SVG text: scales, ticks, marks, and the room that a label takes.

Nothing here knows what is drawn. Ink is `currentColor`, so that a drawing follows the page into dark mode and
is black where it stands alone. Numbers are written with two decimals: the same arrays give the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Literal

__all__ = ["FONT", "Box", "Canvas", "Scale", "number", "spread", "text_width", "ticks"]

FONT = 12.0
FONTS = "Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"
# Advance widths in em of DejaVu Sans, the widest of these faces; all others count as 0.63, capitals as 0.7.
NARROW, THIN, WIDE = set("ijl' "), set("frtI.,:;|!()[]-/"), set("mwMW@%")


def number(value: float) -> str:
    """Return `value` with at most two decimals, without trailing zeros and without "-0"."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def text_width(text: str, size: float = FONT) -> float:
    """Return about how wide `text` is, a little too wide rather than too narrow, in the unit of `size`."""
    em = 0.0
    for character in text:
        if character in NARROW:
            em += 0.32
        elif character in THIN:
            em += 0.41
        elif character in WIDE:
            em += 0.95
        else:
            em += 0.7 if character.isupper() else 0.63
    return em * size


def ticks(low: float, high: float, count: int = 6) -> list[float]:
    """Return round numbers within [low, high], about `count`, 1, 2 or 5 times a power of ten apart."""
    rough = (high - low) / max(count, 1)
    if not rough > 0:
        return [low]
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, 2 - math.floor(math.log10(step)))
    return [round(i * step, digits) for i in range(first, last + 1)]


def spread(wishes: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return places near `wishes`, at least `gap` apart and within [low, high], in the same order of size.

    Neighbours that are too close are merged into one block about their mean (the pool-adjacent-violators
    solution, which moves labels least in squares). Where there is no room, they stand evenly.
    """
    if not wishes:
        return []
    order = sorted(range(len(wishes)), key=lambda i: (wishes[i], i))
    gap = min(gap, (high - low) / max(len(wishes) - 1, 1))
    blocks: list[tuple[float, int]] = []  # sum of (wish - offset in the block), size
    for i in order:
        total, size = wishes[i], 1
        while blocks and blocks[-1][0] / blocks[-1][1] + blocks[-1][1] * gap > total / size:
            before, count = blocks.pop()
            total, size = before + total - size * count * gap, size + count
        blocks.append((total, size))
    places: list[float] = []
    for total, size in blocks:
        places += [total / size + j * gap for j in range(size)]
    for j in range(len(places)):  # push into the range from both ends
        places[j] = max(places[j], low + j * gap)
    for j in range(len(places)):
        places[-1 - j] = min(places[-1 - j], high - j * gap)
    result = [0.0] * len(wishes)
    for place, i in zip(places, order, strict=True):
        result[i] = place
    return result


@dataclass(frozen=True)
class Scale:
    """A linear scale from data to pixels: `low` lies at `start`, `high` at `stop`."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        """Return the pixel of `value`."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.stop - self.start)


@dataclass(frozen=True)
class Box:
    """A rectangle of pixels."""

    x: float
    y: float
    width: float
    height: float

    def overlap(self, other: Box) -> float:
        """Return the common area with `other`."""
        across = min(self.x + self.width, other.x + other.width) - max(self.x, other.x)
        down = min(self.y + self.height, other.y + other.height) - max(self.y, other.y)
        return max(across, 0.0) * max(down, 0.0)


# Outlines of marks about (0, 0) for radius 1; distinct by shape alone, for those who do not see the colours.
_SHAPES = {
    "circle": None,
    "square": "-.88,-.88 .88,-.88 .88,.88 -.88,.88",
    "diamond": "0,-1.25 1.25,0 0,1.25 -1.25,0",
    "up": "0,-1.2 1.15,.9 -1.15,.9",
    "down": "0,1.2 1.15,-.9 -1.15,-.9",
    "left": "-1.2,0 .9,-1.15 .9,1.15",
    "plus": "-.4,-1.2 .4,-1.2 .4,-.4 1.2,-.4 1.2,.4 .4,.4 .4,1.2 -.4,1.2 -.4,.4 -1.2,.4 -1.2,-.4 -.4,-.4",
    "cross": "0,-.57 .57,-1.13 1.13,-.57 .57,0 1.13,.57 .57,1.13 0,.57 -.57,1.13 -1.13,.57 -.57,0"
    " -1.13,-.57 -.57,-1.13",
    "star": "0,-1.4 .38,-.5 1.33,-.43 .6,.2 .82,1.13 0,.63 -.82,1.13 -.6,.2 -1.33,-.43 -.38,-.5",
}
Shape = Literal["circle", "square", "diamond", "up", "down", "left", "plus", "cross", "star"]


@dataclass
class Canvas:
    """An SVG being drawn.

    `name` prefixes the ids of title and description, so that several drawings fit one page.
    """

    name: str
    title: str
    description: str
    width: float
    height: float
    parts: list[str] = field(default_factory=list)

    def line(
        self,
        x1: float,
        y1: float,
        x2: float,
        y2: float,
        *,
        color: str = "currentColor",
        width: float = 1.0,
        dash: str = "",
        opacity: float = 1.0,
    ) -> None:
        """Draw one straight line."""
        self.parts.append(
            f'<line x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}" stroke="{color}"'
            f' stroke-width="{number(width)}"{_dash(dash)}{_opacity(opacity)}/>'
        )

    def path(
        self,
        points: Iterable[tuple[float, float]],
        *,
        color: str = "currentColor",
        width: float = 2.0,
        dash: str = "",
    ) -> None:
        """Draw a line through `points`."""
        text = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        self.parts.append(
            f'<polyline points="{text}" fill="none" stroke="{color}" stroke-width="{number(width)}"'
            f' stroke-linejoin="round" stroke-linecap="round"{_dash(dash)}/>'
        )

    def area(self, points: Iterable[tuple[float, float]], *, color: str, opacity: float = 0.2) -> None:
        """Fill the polygon of `points`."""
        text = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        self.parts.append(f'<polygon points="{text}" fill="{color}"{_opacity(opacity)}/>')

    def rect(self, box: Box, *, color: str, opacity: float = 1.0, outline: bool = False) -> None:
        """Fill a rectangle."""
        edge = ' stroke="currentColor" stroke-width=".75"' if outline else ""
        self.parts.append(
            f'<rect x="{number(box.x)}" y="{number(box.y)}" width="{number(max(box.width, 0))}"'
            f' height="{number(max(box.height, 0))}" fill="{color}"{edge}{_opacity(opacity)}/>'
        )

    def mark(
        self,
        x: float,
        y: float,
        shape: Shape,
        *,
        color: str,
        radius: float = 4.5,
        outline: float = 1.0,
        opacity: float = 1.0,
        title: str = "",
    ) -> None:
        """Draw a mark about (x, y); `title` is what a pointer that rests on it reads."""
        style = f'fill="{color}" stroke="currentColor" stroke-width="{number(outline)}"{_opacity(opacity)}'
        inner = f"<title>{escape(title)}</title>" if title else ""
        outline_points = _SHAPES[shape]
        if outline_points is None:
            head = f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(radius)}" {style}'
            self.parts.append(f"{head}>{inner}</circle>" if inner else f"{head}/>")
            return
        points = []
        for pair in outline_points.split():
            dx, dy = pair.split(",")
            points.append(f"{number(x + float(dx) * radius)},{number(y + float(dy) * radius)}")
        head = f'<polygon points="{" ".join(points)}" {style}'
        self.parts.append(f"{head}>{inner}</polygon>" if inner else f"{head}/>")

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        anchor: Literal["start", "middle", "end"] = "start",
        size: float = FONT,
        bold: bool = False,
        muted: bool = False,
        turn: bool = False,
    ) -> None:
        """Write `text` with its baseline at `y`; `turn` writes it upwards."""
        style = "" if anchor == "start" else f' text-anchor="{anchor}"'
        style += "" if size == FONT else f' font-size="{number(size)}"'
        style += ' font-weight="600"' if bold else ""
        style += _opacity(0.75) if muted else ""
        place = (
            f'transform="translate({number(x)} {number(y)}) rotate(-90)"'
            if turn
            else f'x="{number(x)}" y="{number(y)}"'
        )
        self.parts.append(f"<text {place}{style}>{escape(text, quote=False)}</text>")

    def x_axis(
        self, scale: Scale, y: float, values: Sequence[float], *, top: float, title: str = "", digits: int = 0
    ) -> None:
        """Draw an axis at the bottom with tick labels, grid lines up to `top`, and its title."""
        for value in values:
            self.line(scale(value), top, scale(value), y, width=0.75, opacity=0.18)
            self.text(scale(value), y + 16, f"{value:.{digits}f}", anchor="middle")
        self.line(scale.start, y, scale.stop, y, width=1)
        if title:
            self.text((scale.start + scale.stop) / 2, y + 35, title, anchor="middle")

    def y_axis(
        self,
        scale: Scale,
        x: float,
        values: Sequence[float],
        *,
        right: float,
        title: str = "",
        digits: int = 0,
    ) -> None:
        """Draw an axis at the left with tick labels, grid lines up to `right`, and its title above it."""
        for value in values:
            self.line(x, scale(value), right, scale(value), width=0.75, opacity=0.18)
            self.text(x - 7, scale(value) + 4, f"{value:.{digits}f}", anchor="end")
        self.line(x, scale.start, x, scale.stop, width=1)
        if title:
            self.text(0, scale.stop - 14, title)

    def svg(self) -> str:
        """Return the drawing."""
        width, height = number(self.width), number(self.height)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
            f' height="{height}" role="img" aria-labelledby="{self.name}-title {self.name}-desc"'
            f' font-family="{FONTS}" font-size="{number(FONT)}" fill="currentColor">'
            f'<title id="{self.name}-title">{escape(self.title, quote=False)}</title>'
            f'<desc id="{self.name}-desc">{escape(self.description, quote=False)}</desc>'
        )
        return head + "\n" + "\n".join(self.parts) + "\n</svg>"


def _dash(dash: str) -> str:
    return f' stroke-dasharray="{dash}"' if dash else ""


def _opacity(opacity: float) -> str:
    return "" if opacity == 1 else f' opacity="{number(opacity)}"'
