"""Gain models: what they learn, the same bits after a round trip through JSON, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("sklearn")

from sqe_fast.errors import InvalidInputError, InvalidTypeError, RecordError
from sqe_fast.gate import SIGNALS, GainModel, LearnedGate, RateGate, fit_gain
from sqe_fast.gate.gain import FORMS, SCALES, Scale

N = 300


def questions(seed=0, n=N):
    """Signals of n questions, and gains that follow the spread: where it is low expansion helps."""
    rng = np.random.default_rng(seed)
    signals = {name: rng.standard_normal(n).astype(np.float32) for name in ("top1", "spread", "rbo")}
    signals["agreement"] = rng.integers(0, 2, n).astype(np.float32)
    draw = rng.random(n)
    helps = draw < np.where(signals["spread"] < 0, 0.6, 0.05)
    return signals, np.where(helps, 1, np.where(draw > 0.97, -1, 0))


@pytest.fixture(scope="module", params=[(form, scale) for form in FORMS for scale in SCALES])
def model(request):
    signals, gain = questions()
    form, scale = request.param
    return fit_gain(signals, gain, form=form, scale=scale)


def test_it_finds_what_helps(model):
    signals, gain = questions(seed=1, n=2000)
    predicted = model.predict(signals)
    assert predicted.shape == (2000,)
    assert predicted.mean() == pytest.approx(gain.mean(), abs=0.05)
    low = signals["spread"] < 0
    assert predicted[low].mean() > predicted[~low].mean() + 0.2
    chosen = RateGate(0.5, model=model).start()(signals, 2000)
    assert chosen.sum() == 1000
    assert gain[chosen].sum() > 2 * gain[~chosen].sum()
    above = LearnedGate(model, 0.2).start()(signals, 2000)
    assert above.tolist() == (predicted > 0.2).tolist()
    assert 0 < above.sum() < 2000


def test_no_question_depends_on_the_others(model):
    signals, _ = questions(seed=2)
    whole = model.predict(signals)
    for rows in (slice(0, 1), slice(5, 40), np.arange(N)[::-1]):
        part = model.predict({name: values[rows] for name, values in signals.items()})
        assert part.tolist() == whole[rows].tolist()
    assert model.predict({name: values[:0] for name, values in signals.items()}).shape == (0,)


def test_json_gives_the_same_decisions(model, tmp_path):
    path = tmp_path / "gain.json"
    model.save(path)
    again = GainModel.load(path)
    assert again == model
    assert hash(again) == hash(model)
    signals, _ = questions(seed=3)
    assert again.predict(signals).tolist() == model.predict(signals).tolist()
    assert [file.name for file in tmp_path.iterdir()] == ["gain.json"]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.floats(width=32, allow_nan=False), min_size=4, max_size=4))
def test_predictions_are_finite_whatever_the_signals(values):
    signals, gain = questions()
    for form in FORMS:
        fitted = fit_gain(signals, gain, form=form, penalty=1e-6)
        one = {name: np.array([value], np.float32) for name, value in zip(signals, values, strict=True)}
        predicted = fitted.predict(one)
        assert np.isfinite(predicted).all()
        if form == "logistic":
            assert -1 <= predicted[0] <= 1


def test_infinite_and_constant_signals_are_fitted():
    signals, gain = questions()
    signals["margin"] = np.where(gain > 0, np.inf, 0.5).astype(np.float32)
    signals["oov"] = np.zeros(N, np.float32)
    signals["wig"] = np.full(N, np.inf, np.float32)
    for scale in SCALES:
        fitted = fit_gain(signals, gain, scale=scale)
        assert np.isfinite(fitted.predict(signals)).all()
        assert fitted.scales[fitted.names.index("oov")].to in ((0.0,), (pytest.approx(0.0),))


def test_ranks_do_not_change_with_the_scale_of_scores(model):
    signals, _ = questions(seed=4)
    other = {name: values * 8 - 2 for name, values in signals.items()}  # another encoder's scores
    moved = model.adapted(other)
    assert moved.predict(other) == pytest.approx(model.adapted(signals).predict(signals), abs=1e-4)
    assert moved.weights == model.weights


@settings(deadline=None)
@given(st.lists(st.floats(-1e6, 1e6, width=32) | st.sampled_from([0.0, np.inf]), min_size=1, max_size=50))
def test_scales_are_monotone_and_finite(values):
    values = np.array(values)
    for scale in (Scale.ranks(values, 9), Scale.standard(values)):
        mapped = scale(np.sort(values))
        assert np.isfinite(mapped).all()
        assert (np.diff(mapped) >= -1e-12).all()


def test_ranks_are_uniform():
    mapped = Scale.ranks(np.random.default_rng(5).exponential(size=5000))(
        np.random.default_rng(6).exponential(size=5000)
    )
    assert mapped.mean() == pytest.approx(0, abs=0.05)
    assert mapped.std() == pytest.approx(1, abs=0.03)


def test_two_kinds_of_gain_and_one():
    signals, gain = questions()
    fitted = fit_gain(signals, np.maximum(gain, 0), form="logistic")
    assert fitted.gains == (0.0, 1.0)
    assert ((fitted.predict(signals) > 0) & (fitted.predict(signals) < 1)).all()
    with pytest.raises(InvalidInputError, match="at least two different values"):
        fit_gain(signals, np.zeros(N))


def test_the_model_is_scikit_learns():
    from sklearn.linear_model import LogisticRegression, Ridge

    signals, gain = questions()
    z = np.stack([Scale.standard(values.astype(float))(values) for values in signals.values()], 1)
    ridge = Ridge(alpha=3.0).fit(z, gain).predict(z)
    assert fit_gain(signals, gain, scale="standard", penalty=3.0).predict(signals) == pytest.approx(ridge)
    logistic = LogisticRegression(C=0.5, max_iter=10_000).fit(z, gain)
    wanted = logistic.predict_proba(z) @ logistic.classes_
    fitted = fit_gain(signals, gain, form="logistic", scale="standard", penalty=2.0)
    assert fitted.predict(signals) == pytest.approx(wanted)


def test_only_the_signals_named():
    signals, gain = questions()
    fitted = fit_gain(signals, gain, ["spread", "rbo"])
    assert fitted.names == LearnedGate(fitted).signals == RateGate(model=fitted).signals == ("spread", "rbo")
    assert set(fitted.names) <= set(SIGNALS)
    with pytest.raises(InvalidInputError, match="signals lack 'rbo'"):
        fitted.predict({"spread": signals["spread"]})


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"names": ["top2"]}, InvalidInputError, "names must be one of top1"),
        ({"names": ["top1", "top1"]}, InvalidInputError, "none twice"),
        ({"names": "top1"}, InvalidTypeError, "names must be a list of str"),
        ({"gain": np.zeros(3)}, InvalidInputError, "gain must hold at least two"),
        ({"gain": np.arange(3)}, InvalidInputError, "one value a question, 300; got 3"),
        ({"gain": np.full(N, np.nan)}, InvalidInputError, "gain must be finite"),
        ({"form": "tree"}, InvalidInputError, "form must be one of ridge, logistic"),
        ({"scale": "log"}, InvalidInputError, "scale must be one of ranks, standard"),
        ({"penalty": 0}, InvalidInputError, "penalty must be a finite number"),
        ({"form": "logistic", "gain": np.arange(N)}, InvalidInputError, "gain must be -1, 0 or 1"),
    ],
)
def test_refuses(change, error, message):
    signals, gain = questions()
    with pytest.raises(error, match=message):
        fit_gain(signals, **{"gain": gain, **change})


@pytest.mark.parametrize(
    "change",
    [
        lambda held: held.update(format="other"),
        lambda held: held.update(names=["top2"]),
        lambda held: held.update(names=["top1"]),
        lambda held: held.update(form="tree"),
        lambda held: held["weights"][0].pop(),
        lambda held: held["scales"].pop(),
        lambda held: held["offsets"].append(1.0),
        lambda held: held.update(gains=["x"]),
        lambda held: held.pop("weights"),
        lambda held: held.update(more=1),
        lambda held: held["scales"][0].update(values=[float("nan")] * len(held["scales"][0]["to"])),
    ],
)
def test_a_broken_file_is_refused_by_name(change, tmp_path):
    signals, gain = questions()
    path = tmp_path / "gain.json"
    fit_gain(signals, gain).save(path)
    held = json.loads(path.read_text())
    change(held)
    path.write_text(json.dumps(held))
    with pytest.raises(RecordError, match=r"gain\.json: not a"):
        GainModel.load(path)


def test_a_missing_or_other_file(tmp_path):
    with pytest.raises(RecordError, match="cannot be read: No such file"):
        GainModel.load(tmp_path / "none.json")
    for text in ("[]", "{", '"x"'):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(RecordError, match="not a"):
            GainModel.load(tmp_path / "x.json")
