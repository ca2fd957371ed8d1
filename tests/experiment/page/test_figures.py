"""The figures: well-formed drawings, marks where the numbers say, labels that do not collide."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.experiment.page import figures
from sqe_fast.experiment.page.figures.base import padded, robust_low
from sqe_fast.experiment.page.styles import styles
from sqe_fast.experiment.page.svg import Box, Canvas, Scale, number, spread, text_width, ticks
from sqe_fast.methods import METHODS

SEEDS = range(42, 50)
SVG = "{http://www.w3.org/2000/svg}"
MEANS = {
    "Dense-Only": 0.685,
    "Hybrid-RRF": 0.635,
    "Always-Expand": 0.692,
    "Selective-QE": 0.694,
    "BM25-Only": 0.3,
}
TOKENS = {"Dense-Only": 0, "Hybrid-RRF": 0, "Always-Expand": 899, "Selective-QE": 405, "BM25-Only": 0}


def recalls(seed=0):
    random = np.random.default_rng(seed)
    return {name: mean + random.normal(0, 0.025, len(SEEDS)) for name, mean in MEANS.items()}


def draw_recall(width=720, **changes):
    return figures.recall_by_seed(recalls(), SEEDS, width=width, **changes)


def draw_tokens(width=720, **changes):
    tokens = {name: np.full(len(SEEDS), float(count)) for name, count in TOKENS.items()}
    return figures.tokens_against_recall(tokens, recalls(), width=width, **changes)


def draw_sweep(width=720, **changes):
    t = [0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8]
    recall, share = [0.685, 0.685, 0.688, 0.69, 0.694, 0.693, 0.692], [0, 0.01, 0.05, 0.2, 0.48, 0.8, 1]
    given = {"dense": 0.685, "always": 0.692, "error": np.linspace(0, 0.004, 7)} | changes
    return figures.threshold_sweep(t, recall, share, width=width, **given)


def draw_headroom(width=720, **changes):
    random = np.random.default_rng(1)
    dense = 0.68 + random.normal(0, 0.03, 8)
    helpful, harmful = random.uniform(0.03, 0.08, 8), random.uniform(0.02, 0.06, 8)
    arrays = (dense, dense + helpful - harmful, dense + helpful, helpful, harmful)
    return figures.oracle_headroom(SEEDS, *arrays, width=width, **changes)


def draw_gates(width=720, **changes):
    x = np.linspace(0, 1, 21)
    gates = {
        f"gate {i}": 0.685 + 0.007 * x + h * x * (1 - x) for i, h in enumerate((0.02, 0.03, 0.031, 0.05))
    }
    band = (0.685 + 0.007 * x - 0.004, 0.685 + 0.007 * x + 0.004)
    given = {"random": band, "oracle": 0.685 + 0.053 * np.minimum(x / 0.05, 1) - 0.046 * x} | changes
    return figures.gate_curves(x, gates, width=width, **given)


ALL = [draw_recall, draw_tokens, draw_sweep, draw_headroom, draw_gates]


def texts(svg):
    """Return (text, box) of every text of a drawing, by the estimate of widths that the layout uses."""
    found = []
    for element in ElementTree.fromstring(svg).iter(f"{SVG}text"):
        assert "transform" not in element.attrib
        width = text_width(element.text)
        x, y = float(element.get("x")), float(element.get("y"))
        x -= {"start": 0, "middle": width / 2, "end": width}[element.get("text-anchor", "start")]
        found.append((element.text, Box(x, y - 9, width, 11)))
    return found


@pytest.mark.parametrize("width", [360, 720])
@pytest.mark.parametrize("draw", ALL)
def test_a_drawing_is_well_formed_named_and_repeatable(draw, width):
    svg = draw(width, name="own")
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == "own-title own-desc"
    assert root.find(f"{SVG}title").get("id") == "own-title"
    assert len(root.find(f"{SVG}desc").text) > 30
    assert float(root.get("width")) == width
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
    assert "nan" not in svg.lower()
    assert "style=" not in svg  # the page's policy would refuse it
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")
    assert draw(width, name="own") == svg


@pytest.mark.parametrize("width", [360, 720, 1000])
@pytest.mark.parametrize("draw", ALL)
def test_no_two_texts_overlap_and_none_leaves_the_drawing(draw, width):
    svg = draw(width)
    root = ElementTree.fromstring(svg)
    frame = Box(-1, 0, width + 2, float(root.get("height")))
    boxes = texts(svg)
    assert len(boxes) > 8
    for i, (text, box) in enumerate(boxes):
        assert box.overlap(frame) == pytest.approx(box.width * box.height), text
        for other, taken in boxes[i + 1 :]:
            assert box.overlap(taken) == 0, (text, other)


def mark_places(svg, pattern):
    """Return (x, y) of the marks whose titles match."""
    places = []
    for element in ElementTree.fromstring(svg).iter():
        title = element.find(f"{SVG}title")
        if title is None or element.tag == f"{SVG}svg" or not re.search(pattern, title.text):
            continue
        if element.tag == f"{SVG}circle":
            places.append((float(element.get("cx")), float(element.get("cy"))))
        else:
            points = [tuple(map(float, pair.split(","))) for pair in element.get("points").split()]
            places.append(tuple((max(p[i] for p in points) + min(p[i] for p in points)) / 2 for i in (0, 1)))
    return places


def test_recall_stands_in_proportion_and_seeds_from_top_to_bottom():
    values = {"Dense-Only": [0.6, 0.64, 0.7], "Selective-QE": [0.62, 0.62, 0.72]}
    svg = figures.recall_by_seed(values, [1, 2, 3])
    marks = mark_places(svg, "^Dense-Only")
    x = [place[0] for place in marks]
    assert (x[1] - x[0]) / (x[2] - x[0]) == pytest.approx(0.4, abs=0.01)
    assert all(a[1] < b[1] for a, b in pairwise(marks))
    assert re.search("64.7 ± 5.0", svg)  # mean and sample deviation of Dense-Only
    assert svg.index("Selective-QE 65.3") < svg.index("Dense-Only 64.7")  # the higher mean first


def test_deviations_stay_within_what_a_recall_can_be():
    """Seeds of few questions differ by more than their mean: no axis goes far below 0 or above 100."""
    recall = {"Dense-Only": [0.0, 0.0, 0.8], "Always-Expand": [0.2, 1.0, 1.0]}
    svg = figures.tokens_against_recall({name: [10.0] for name in recall}, recall)
    ticks = {int(found) for found in re.findall(r">(-?\d+)</text>", svg)}
    assert {0, 100} <= ticks
    assert min(ticks) == 0
    assert max(ticks) == 100


def test_one_seed_has_no_deviation():
    svg = figures.recall_by_seed({"Dense-Only": [0.6]}, [42])
    assert "60.0" in svg
    assert "±" not in svg


def test_a_method_far_below_stays_off_the_scale_and_says_so():
    svg = draw_recall()
    assert "all seeds below the axis" in svg
    assert "BM25-Only 30." in svg
    assert mark_places(svg, "^BM25-Only, seed") == []
    assert "(below the axis)" in draw_tokens()
    without = {name: values for name, values in recalls().items() if name != "BM25-Only"}
    assert "below the axis" not in figures.recall_by_seed(without, SEEDS)


def test_tokens_stand_in_proportion():
    svg = figures.tokens_against_recall(
        {"a": [0, 0], "b": [100, 300], "c": [400, 400]},
        {"a": [0.6, 0.62], "b": [0.65, 0.65], "c": [0.7, 0.7]},
    )
    (a,), (b,), (c,) = (mark_places(svg, f"^{name}:") for name in "abc")
    assert b[0] - a[0] == pytest.approx(c[0] - b[0], abs=0.2)
    assert a[1] > b[1] > c[1]


def test_the_sweep_marks_the_chosen_threshold_and_names_the_best():
    svg = draw_sweep()
    chosen = ElementTree.fromstring(svg).findall(f"{SVG}circle[@r='5.5']")
    assert [circle.find(f"{SVG}title").text for circle in chosen] == [
        "threshold 0.65: 69.4 % Recall@5",
        "threshold 0.65: 48.0 % expanded",
    ]
    assert "Highest recall 69.4 % at threshold 0.65, where 48 % are expanded" in svg
    assert ElementTree.fromstring(draw_sweep(chosen=None)).findall(f"{SVG}circle[@r='5.5']") == []


def test_headroom_draws_every_seed_and_the_mean():
    svg = figures.oracle_headroom([1, 2], [0.6, 0.7], [0.62, 0.68], [0.66, 0.74], [0.06, 0.04], [0.04, 0.06])
    assert [place[0] for place in mark_places(svg, "^Mean, Oracle: 70.0")] != []
    assert mark_places(svg, "^Seed 1, Dense-Only")[0][0] < mark_places(svg, "^Seed 2, Dense-Only")[0][0]
    bars = [float(bar.get("width")) for bar in ElementTree.fromstring(svg).iter(f"{SVG}rect")]
    harm_1, help_1, harm_2, help_2, harm, helped = bars
    assert (harm_1, help_1) == pytest.approx((help_2, harm_2))
    assert harm == pytest.approx(helped)
    assert help_1 / harm_1 == pytest.approx(1.5, rel=0.01)


def test_gate_curves_name_lines_in_the_order_of_the_lines():
    svg = draw_gates()
    names = [text for text, box in texts(svg) if text.startswith(("gate ", "oracle", "random"))]
    assert names == ["oracle", "gate 3", "gate 2", "gate 1", "gate 0", "random"]
    assert "polygon" in svg
    assert "Tokens spent" in draw_gates(axis="tokens")
    bare = draw_gates(random=None, oracle=None)
    assert "oracle" not in bare
    assert "random" not in bare


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: figures.recall_by_seed({}, [1]), "at least one series"),
        (lambda: figures.recall_by_seed({"a": [0.5]}, [1, 2]), r"recall\['a'\] must have 2 values"),
        (lambda: figures.recall_by_seed({"a": [np.nan]}, [1]), "must be finite"),
        (lambda: figures.recall_by_seed({"a": [0.5]}, [1], width=100), "width must be"),
        (lambda: figures.tokens_against_recall({"a": [1]}, {"b": [0.5]}), "share at least one method"),
        (lambda: figures.threshold_sweep([0.5, 0.4], [0, 0], [0, 0], dense=0, always=0), "rise"),
        (lambda: figures.gate_curves([0, 2], {"a": [0, 1]}), "within"),
        (lambda: figures.gate_curves([0, 1], {"a": [0, 1]}, oracle=[0]), "oracle must have 2 values"),
        (lambda: figures.gate_curves([0, 1], {"a": [0, 1]}, axis="calls"), "axis must be one of"),
    ],
)
def test_bad_arrays_are_refused_by_name(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()


def test_a_width_that_is_no_number_is_refused():
    with pytest.raises(InvalidTypeError, match="width"):
        figures.recall_by_seed({"a": [0.5]}, [1], width="wide")


def test_every_method_has_a_look_of_its_own():
    look = styles([*METHODS, "another", "and another"])
    assert len({(style.color, style.shape) for style in look.values()}) == len(look)
    assert len({style.shape for name, style in look.items() if name in METHODS}) == len(METHODS)
    assert look == styles([*METHODS, "another", "and another"])
    assert look == styles(["another", *reversed(METHODS), "and another"])  # as figures order them differently
    many = styles([f"gate {i}" for i in range(40)])
    assert len({(style.color, style.shape) for style in many.values()}) == 40


@given(st.lists(st.floats(0, 300), max_size=12), st.floats(1, 20), st.floats(-10, 50), st.floats(260, 400))
def test_spread_keeps_order_distance_and_range(wishes, gap, low, high):
    places = spread(wishes, gap, low, high)
    room = min(gap, (high - low) / max(len(wishes) - 1, 1))
    order = sorted(range(len(wishes)), key=lambda i: (wishes[i], i))
    assert all(low - 1e-6 <= place <= high + 1e-6 for place in places)
    assert all(places[b] - places[a] >= room - 1e-6 for a, b in pairwise(order))
    far = all(abs(wishes[a] - wishes[b]) >= gap for a, b in pairwise(order))
    if far and all(low <= wish <= high for wish in wishes):
        assert places == pytest.approx(wishes)


@given(st.floats(-1e4, 1e4), st.floats(1e-3, 1e4), st.integers(2, 10))
def test_ticks_are_round_even_and_within(low, span, count):
    found = ticks(low, low + span, count)
    steps = np.diff(found)
    assert all(low - 1e-6 * span <= tick <= low + span * (1 + 1e-6) for tick in found)
    assert len(found) <= count + 1
    if len(found) > 2:
        assert steps == pytest.approx(np.full(len(steps), steps[0]), rel=1e-4)
        lead = f"{steps[0]:.3e}"[0:5]
        assert lead in {"1.000", "2.000", "5.000"} or steps[0] < 1e-6


@given(st.floats(-1e6, 1e6))
def test_numbers_are_short_and_near(value):
    assert float(number(value)) == pytest.approx(value, abs=0.0051)
    assert number(value) != "-0"


@given(st.lists(st.floats(0, 100), min_size=1, max_size=9))
def test_an_axis_shows_all_but_at_most_one(values):
    low = robust_low(values)
    assert low in sorted(values)[:2]
    start, stop = padded(low, max(values))
    assert start < low <= max(values) < stop


def test_text_of_a_drawing_is_escaped():
    canvas = Canvas("a", "<b>", "x & y", 10, 10)
    canvas.text(0, 0, "</svg><script>")
    canvas.mark(0, 0, "circle", color="red", title='"<')
    root = ElementTree.fromstring(canvas.svg())
    assert root.find(f"{SVG}text").text == "</svg><script>"
    assert Scale(0, 2, 10, 20)(1) == 15
