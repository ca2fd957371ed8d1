"""Gates written and read: the same decisions, and files that are none."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sqe_fast.errors import InvalidTypeError, RecordError
from sqe_fast.gate import (
    AlwaysGate,
    LearnedGate,
    RateGate,
    StreamingGate,
    ThresholdGate,
    fit_gain,
)
from sqe_fast.gate.files import load_gate, save_gate

RNG = np.random.default_rng(5)
SIGNALS = {name: RNG.random(60).astype(np.float32) for name in ("spread", "top1")}
GAIN = (SIGNALS["spread"] < 0.4).astype(int)


def gates():
    pytest.importorskip("sklearn")
    model = fit_gain(SIGNALS, GAIN)
    return [
        ThresholdGate(threshold=0.1 + 0.2, signal="spread", direction="above"),
        LearnedGate(model, 0.125),
        RateGate(rate=0.4, model=model),
        StreamingGate(rate=0.3, signal="top1", window=20, history=(0.1, 1 / 3)),
    ]


def test_a_gate_comes_back_equal_and_decides_the_same(tmp_path):
    for number, gate in enumerate(gates()):
        path = tmp_path / f"{number}.json"
        save_gate(gate, path)
        found = load_gate(path)
        assert found == gate
        assert found.start()(SIGNALS, 60).tolist() == gate.start()(SIGNALS, 60).tolist()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.json", "1.json", "2.json", "3.json"]


def test_only_what_can_be_fitted_is_written(tmp_path):
    with pytest.raises(InvalidTypeError, match="gate must be one of ThresholdGate, LearnedGate, RateGate"):
        save_gate(AlwaysGate(), tmp_path / "gate.json")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "sqe_fast gate 0"}, "not a 'sqe_fast gate 1'"),
        ({"gate": "AlwaysGate"}, "gate must be one of"),
        ({"signal": "top9"}, "signal must be one of top1"),
        ({"threshold": "0.5"}, "threshold must be a number"),
        ({"depth": 3}, "ThresholdGate has no 'depth'; it has threshold, signal, direction"),
        ({"gate": "RateGate"}, "RateGate has no 'threshold'"),
    ],
)
def test_other_files_are_refused_by_name(tmp_path, change, message):
    path = tmp_path / "gate.json"
    save_gate(ThresholdGate(threshold=0.5), path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(RecordError, match=message) as caught:
        load_gate(path)
    assert str(path) in str(caught.value)


def test_what_cannot_be_read_is_named(tmp_path):
    with pytest.raises(RecordError, match=r"none\.json: cannot be read"):
        load_gate(tmp_path / "none.json")
    (tmp_path / "gate.json").write_text("{")
    with pytest.raises(RecordError, match=r"gate\.json: not JSON"):
        load_gate(tmp_path / "gate.json")
    (tmp_path / "gate.json").write_text("[1]")
    with pytest.raises(RecordError, match="not a 'sqe_fast gate 1'"):
        load_gate(tmp_path / "gate.json")


JUNK = ["x", None, True, [], [1], ["a"], {}, {"a": 1}, -1, 10**400, float("nan"), float("inf"), 0.5]


def damaged(value):
    """Yield every value like `value` with one part of it, at any depth, gone or in another's place."""
    yield from JUNK
    if isinstance(value, dict):
        for key, part in value.items():
            yield {name: one for name, one in value.items() if name != key}
            yield from (value | {key: other} for other in damaged(part))
    elif isinstance(value, list) and value:
        yield value[1:]
        yield from ([other, *value[1:]] for other in damaged(value[0]))


def test_a_damaged_file_is_refused_or_still_a_gate(tmp_path):
    """Never another error than the one that names the file."""
    path = tmp_path / "gate.json"
    errors = []
    for gate in gates():
        save_gate(gate, path)
        for held in damaged(json.loads(path.read_text())):
            path.write_text(json.dumps(held))
            try:
                load_gate(path)
            except RecordError as error:
                errors.append(str(error))
    assert len(errors) > 500
    assert all(error.startswith(str(path)) for error in errors)
