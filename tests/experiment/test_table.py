"""The value that every writer of tables takes."""

import doctest
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqe_fast.errors import InvalidInputError
from sqe_fast.experiment import table as module
from sqe_fast.experiment.table import Column, Table, cell_text


def test_examples():
    failed, tried = doctest.testmod(module)
    assert tried > 0
    assert failed == 0


@pytest.mark.parametrize(
    ("form", "digits", "value", "text"),
    [
        ("text", 1, "Dense-Only", "Dense-Only"),
        ("int", 1, 4000, "4,000"),
        ("percent", 1, 0.6847500000000001, "68.5"),
        ("points", 1, 0.00875, "+0.9"),
        ("points", 1, -0.00875, "-0.9"),
        ("points", 1, -0.0000875, "0.0"),
        ("float", 2, 5.3712, "5.37"),
        ("float", 2, -0.001, "0.00"),
        ("float", 2, 1234.5, "1,234.50"),
        ("p", 3, 0.0146, "0.015"),
        ("p", 3, 0.0001, "<0.001"),
        ("p", 3, 1.0, "1.000"),
        ("interval", 1, (0.00075, 0.017), "[+0.1, +1.7]"),
        ("interval", 1, None, ""),
        ("float", 1, math.nan, ""),
        ("text", 1, None, ""),
    ],
)
def test_cells(form, digits, value, text):
    assert cell_text(Column("key", "Title", form, digits), value) == text


@given(st.floats(-1, 1), st.integers(0, 6))
def test_points_read_back_to_half_a_digit(value, digits):
    shown = float(cell_text(Column("key", "Title", "points", digits), value))
    assert shown == pytest.approx(value * 100, abs=0.5 * 10.0**-digits + 1e-12)


def test_a_table_refuses_what_does_not_fit():
    columns = (Column("a", "A"), Column("b", "B"))
    with pytest.raises(InvalidInputError, match="row 1 of table 'x' must have 2 cells; got 1"):
        Table("x", "X", columns, (("1", "2"), ("3",)))
    with pytest.raises(InvalidInputError, match="different keys"):
        Table("x", "X", (Column("a", "A"), Column("a", "B")))
    with pytest.raises(InvalidInputError, match="form must be one of"):
        Column("a", "A", "percents")
    with pytest.raises(InvalidInputError, match="key must be one of a, b; got 'c'"):
        Table("x", "X", columns).column("c")
