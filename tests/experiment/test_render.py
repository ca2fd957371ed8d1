"""Tables as text: what is read back is what was there, and nothing in a cell steers a reader."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from sqe_fast.experiment.render import csv_text, latex_text, markdown_text, show
from sqe_fast.experiment.table import Column, Table, cell_text

COLUMNS = (
    Column("name", "Name"),
    Column("count", "Count", "int"),
    Column("share", "Share", "percent"),
    Column("delta", "Difference", "points"),
    Column("interval", "95% interval", "interval"),
    Column("p", "p", "p", 3),
)
NUMBER = st.floats(-1, 1, allow_nan=False)
ROWS = st.lists(
    st.tuples(
        st.text(max_size=12),
        st.none() | st.integers(0, 10**9),
        st.none() | NUMBER,
        st.none() | NUMBER,
        st.none() | st.tuples(NUMBER, NUMBER),
        st.none() | st.floats(0, 1),
    ),
    max_size=5,
)


def table(rows, **more):
    return Table("some-table", "Some table", COLUMNS, tuple(rows), **more)


@given(ROWS)
def test_csv_reads_back_to_the_bit(rows):
    made = list(csv.reader(io.StringIO(csv_text(table(rows)), newline="")))
    assert made[0] == ["name", "count", "share", "delta", "interval_low", "interval_high", "p"]
    assert len(made) == len(rows) + 1
    for (name, count, share, delta, interval, p), cells in zip(rows, made[1:], strict=True):
        assert cells[0] == name
        numbers = [count, share, delta, *(interval or (None, None)), p]
        assert [float(cell) if cell else None for cell in cells[1:]] == numbers


@given(ROWS, st.text(max_size=30))
def test_markdown_keeps_its_columns(rows, note):
    lines = markdown_text(table(rows, notes=(note,))).split("\n")
    body = lines[2 : 4 + len(rows)]
    assert all(len(re.findall(r"(?<!\\)\|", line)) == len(COLUMNS) + 1 for line in body)
    assert lines[0] == "## Some table"


SPECIAL = re.compile(r"(?<!\\)[#%&_$]")
COMMANDS = re.compile(
    r"\\text(backslash|asciitilde|asciicircum|less|greater|bar|quotedbl)\{\}|\\[{}#$%&_]|\$-\$|\$\\pm\$|\{\[\}|\{\]\}"
)


@given(ROWS)
def test_latex_leaves_nothing_to_be_read(rows):
    text = latex_text(table(rows))
    body = text.split("\\midrule\n")[1].split("\\bottomrule")[0]
    assert len(body.splitlines()) == len(rows)
    for line in body.splitlines():
        assert line.endswith(r" \\")
        cells = line.removesuffix(r" \\").split(" & ")
        assert len(cells) == len(COLUMNS)
        for cell in cells:
            assert not re.search(r"[\\{}#$%&_~^<>|\"\[\]]", COMMANDS.sub("", cell))


def test_latex_of_hard_letters():
    text = latex_text(
        Table(
            "t",
            "50 % of a_b",
            (Column("x", "A & B"), Column("y", "Y", "interval")),
            ((r"\x{1} #2 $3 ~ ^ <b> -1 [c]", None), ("-2.5", (-0.025, 0))),
        )
    )
    assert r"\textbackslash{}x\{1\} \#2 \$3 \textasciitilde{} \textasciicircum{}" in text
    assert r"\textless{}b\textgreater{} -1 {[}c{]} &  \\" in text
    assert r"-2.5 & {[}$-$2.5, 0.0{]} \\" in text
    assert r"\caption{50 \% of a\_b.}" in text
    assert text.count(r"\begin") == text.count(r"\end") == 2
    assert [text.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule")] == [1, 1, 1]


def shown(one, width):
    stream = io.StringIO()
    console = Console(file=stream, width=width, highlight=False)
    show(one, console)
    assert console.width == width
    return stream.getvalue()


@pytest.mark.parametrize("width", [20, 80, 200])
def test_the_terminal_cuts_no_number(width):
    rows = [(f"method {i}", 123_456, 0.12345, -0.5, (-0.25, 0.125), 0.0001) for i in range(3)]
    one = table(rows, notes=("A note.",))
    text = shown(one, width)
    for row in rows:
        for column, value in zip(COLUMNS, row, strict=True):
            assert cell_text(column, value) in text
    assert "note" in text


def test_a_sentence_is_folded_and_an_escape_is_not_sent():
    text = shown(Table("t", "T", (Column("q", "Query"),), (("word " * 40 + "\x1b[31m",),)), 60)
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 60


def test_what_is_missing_says_why():
    one = Table("t", "T", (), missing="no rows of\nBM25")
    assert csv_text(one) == "\n"
    assert "Cannot be computed: no rows of BM25." in markdown_text(one)
    assert latex_text(one) == "% t: cannot be computed: no rows of BM25\n"
    assert "cannot be computed: no rows of" in shown(one, 80)
