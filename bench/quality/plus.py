"""sqe+ against the paper's SQE; on encoders made from the recorded one; and with choices made out of fold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.quality.dev import STRENGTHS, Dev, dev_set
from bench.quality.expanding import always, recalls
from bench.quality.gating import SHARE
from sqe_fast.batch import SearchBatch
from sqe_fast.experiment.table import Column, Table
from sqe_fast.gate import NeverGate, RateGate
from sqe_fast.gate.study import fit_cut, folds_of, hits_of
from sqe_fast.methods import get_method
from sqe_fast.stats import BootstrapResult, paired_bootstrap

WEIGHTS = (0.5, 0.7, 1.0)
RULES = (None, "top1 >= 0.6", "lift >= 2", "lift >= 2.5", "lift >= 3")
RATES = (0.36, 0.4, 0.45)


def paper_sqe(dev: Dev, strength: str, share: float = SHARE) -> SearchBatch:
    """Answer by the paper's SQE, its threshold on the top-1 score set so that a share is expanded."""
    gate = RateGate(rate=share, signal="top1")
    method = replace(get_method("sqe", k=10), gate=gate)
    return dev.engine("whitespace", strength).search(dev.questions, method)


def plus(dev: Dev, strength: str) -> dict[str, SearchBatch]:
    """Answer by hybrid+ and sqe+."""
    methods = [get_method("hybrid+", k=10), get_method("sqe+", k=10)]
    return dev.engine("code", strength).search_methods(dev.questions, methods)


def difference(one: SearchBatch, other: SearchBatch, dev: Dev, at: int = 5) -> BootstrapResult:
    """Return recall of one less that of the other, paired."""
    mine, theirs = (hits_of(batch, dev.targets, at).astype(np.int64) for batch in (one, other))
    return paired_bootstrap(mine - theirs)


def plus_table(dev: Dev) -> Table:
    """Return the paper's SQE and ours, side by side for both generators."""
    rows = []
    for strength in STRENGTHS:
        paper, ours = paper_sqe(dev, strength), plus(dev, strength)
        for name, batch in (("Selective-QE at 48%", paper), *ours.items()):
            less = difference(batch, paper, dev)
            base = difference(batch, ours["Hybrid-Plus"], dev)
            rows.append(
                (
                    strength,
                    name,
                    float(batch.gated.mean()),
                    float(batch.expanded.mean()),
                    *recalls(batch, dev.targets),
                    batch.usage.total_tokens / len(dev.questions),
                    batch.usage.total_tokens / paper.usage.total_tokens,
                    less.mean,
                    (less.low, less.high),
                    base.mean,
                    (base.low, base.high),
                )
            )
    return Table(
        "plus",
        "sqe+ against the paper's SQE",
        (
            Column("strength", "Expansions"),
            Column("method", "Method"),
            Column("gated", "asked", "percent"),
            Column("expanded", "accepted", "percent"),
            *(Column(f"r{k}", f"R@{k}", "percent") for k in (1, 5, 10)),
            Column("tokens", "tokens", "float"),
            Column("share", "of SQE's", "percent"),
            Column("less", "R@5 less SQE", "points"),
            Column("less_interval", "95%", "interval"),
            Column("base", "less hybrid+", "points"),
            Column("base_interval", "95%", "interval"),
        ),
        tuple(rows),
        (
            "asked: the gate expands; accepted: the trace takes part. Tokens are of a question, over all. "
            "Paired bootstrap over the questions, 10,000 resamples.",
        ),
    )


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def encoders(dim: int = 384) -> Mapping[str, Callable[[NDArray[np.float32]], NDArray[np.float32]]]:
    """Return encoders of other scales and qualities, made from the recorded vectors."""
    rng = np.random.default_rng(0)
    wide, narrow = (rng.standard_normal((dim, n)).astype(np.float32) for n in (128, 64))

    def lifted(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """All inner products nearer to 1: (x + 1.44) / 2.44, as encoders of high cosines have them."""
        return _unit(np.concatenate([vectors, np.full((len(vectors), 1), 1.2, np.float32)], axis=1))

    return {
        "as recorded": lambda vectors: vectors,
        "cosines from 0.6 to 1": lifted,
        "first 192 dimensions": lambda vectors: _unit(vectors[:, :192]),
        "128 random directions": lambda vectors: _unit(vectors @ wide),
        "64 random directions": lambda vectors: _unit(vectors @ narrow),
    }


def carry_table(data: Path, tokenizer: str) -> Table:
    """Return what the same settings do on other encoders, and with another sample of each generator."""
    rows = []
    others = [(name, turn, False) for name, turn in encoders().items()]
    others.insert(1, ("as recorded, the second trace", None, True))
    for name, turn, second in others:
        with dev_set(data, tokenizer, turn, second) as dev:
            paper = {strength: paper_sqe(dev, strength) for strength in STRENGTHS}
            ours = {strength: plus(dev, strength) for strength in STRENGTHS}
            free = ours["strong"]["Hybrid-Plus"]
            less = difference(ours["strong"]["SQE-Plus"], paper["strong"], dev)
            harm = difference(ours["weak"]["SQE-Plus"], free, dev)
            dense = dev.engine().search(dev.questions, get_method("dense", k=10))
            spent = ours["strong"]["SQE-Plus"].usage.total_tokens / paper["strong"].usage.total_tokens
            rows.append(
                (
                    name,
                    recalls(dense, dev.targets, (5,))[0],
                    recalls(paper["strong"], dev.targets, (5,))[0],
                    recalls(free, dev.targets, (5,))[0],
                    recalls(ours["strong"]["SQE-Plus"], dev.targets, (5,))[0],
                    less.mean,
                    (less.low, less.high),
                    spent,
                    recalls(ours["weak"]["SQE-Plus"], dev.targets, (5,))[0],
                    harm.mean,
                )
            )
    return Table(
        "carry",
        "The same settings on other encoders and samples",
        (
            Column("encoder", "Vectors, and the trace that sqe+ takes"),
            Column("dense", "Dense-Only", "percent"),
            Column("sqe", "SQE at 48%", "percent"),
            Column("free", "hybrid+", "percent"),
            Column("plus", "sqe+", "percent"),
            Column("less", "less SQE", "points"),
            Column("interval", "95%", "interval"),
            Column("tokens", "tokens of SQE's", "percent"),
            Column("weak", "sqe+, weak", "percent"),
            Column("harm", "less hybrid+", "points"),
        ),
        tuple(rows),
        ("R@5. Stand-ins for encoders that are not at hand: the recorded vectors scaled, cut, projected.",),
    )


def choices_table(dev: Dev, folds: int = 5, repeats: int = 10, seed: int = 0) -> Table:
    """Return sqe+ with weight, rule and rate chosen on four folds and judged on the fifth."""
    grid = list(product(WEIGHTS, RULES))
    base = {weight: np.zeros(0) for weight in WEIGHTS}
    with_trace: dict[Any, NDArray[np.int64]] = {}
    need = np.zeros(0)
    for strength in STRENGTHS:
        methods = []
        for weight in WEIGHTS:
            weights = {"* bm25": weight}
            methods.append(replace(always(1, 0), name=f"{weight}", gate=NeverGate(), weights=weights))
            methods += [
                replace(always(1, 0), name=f"{weight} {rule}", weights=weights, accept=rule) for rule in RULES
            ]
        found = dev.engine("code", strength).search_methods(dev.questions, methods, signals=["fused_spread"])
        need = found["0.7"].signals["fused_spread"].astype(np.float64)
        hits = {name: hits_of(batch, dev.targets).astype(np.int64) for name, batch in found.items()}
        base |= {weight: hits[f"{weight}"] for weight in WEIGHTS}
        with_trace |= {(strength, weight, rule): hits[f"{weight} {rule}"] for weight, rule in grid}
    paper = hits_of(paper_sqe(dev, "strong"), dev.targets).astype(np.int64)

    def answers(choice: Any, cut: Any, strength: str, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        weight, rule, _ = choice
        chance = cut.weights(need[rows])
        gain = with_trace[strength, weight, rule][rows] - base[weight][rows]
        return base[weight][rows] + chance * gain

    def best(rows: NDArray[np.int64]) -> tuple[Any, Any]:
        """Choose by the sum of both generators' recall, the largest rate that is worth it coming last."""
        scored = []
        for choice in product(WEIGHTS, RULES, RATES):
            cut = fit_cut(need[rows], choice[2])
            scored.append((sum(answers(choice, cut, one, rows).mean() for one in STRENGTHS), choice, cut))
        return max(scored, key=lambda item: item[0])[1:]

    n = len(paper)
    every = np.arange(n)
    total = {key: np.zeros(n) for key in ("strong", "weak", "base")}
    chosen: dict[Any, int] = {}
    for parts in folds_of(n, folds, repeats, seed):
        for part in parts:
            choice, cut = best(np.setdiff1d(every, part))
            chosen[choice] = chosen.get(choice, 0) + 1
            for strength in STRENGTHS:
                total[strength][part] += answers(choice, cut, strength, part) / repeats
            total["base"][part] += base[choice[0]][part] / repeats
    own, own_cut = best(every)
    named = (0.7, "lift >= 2.5", 0.45)
    rows = [
        _choice_row("out of fold", total["strong"], total["weak"], total["base"], paper),
        *(
            _choice_row(
                label,
                answers(choice, cut, "strong", every),
                answers(choice, cut, "weak", every),
                base[choice[0]],
                paper,
            )
            for label, choice, cut in (
                (f"best on all: {_spelled(own)}", own, own_cut),
                (f"as named: {_spelled(named)}", named, fit_cut(need, named[2])),
            )
        ),
    ]
    often = sorted(chosen.items(), key=lambda item: -item[1])[:3]
    note = "; ".join(f"{_spelled(choice)} in {count} of {folds * repeats}" for choice, count in often)
    return Table(
        "choices",
        f"Choices made on other questions ({folds} folds, {repeats} times)",
        (
            Column("how", "Weight of BM25, rule, rate"),
            Column("strong", "strong R@5", "percent"),
            Column("less", "less SQE at 48%", "points"),
            Column("interval", "95%", "interval"),
            Column("weak", "weak R@5", "percent"),
            Column("harm", "less its own base", "points"),
        ),
        tuple(rows),
        (
            f"{len(WEIGHTS) * len(RULES) * len(RATES)} combinations; chosen most: {note}. The signal, the "
            "single trace and the form of the rule were chosen on all questions, which this does not undo.",
        ),
    )


def _choice_row(label: str, strong: Any, weak: Any, base: Any, paper: Any) -> tuple[Any, ...]:
    less = paired_bootstrap(strong - paper)
    return (
        label,
        float(strong.mean()),
        less.mean,
        (less.low, less.high),
        float(weak.mean()),
        float(weak.mean() - np.mean(base)),
    )


def _spelled(choice: tuple[float, str | None, float]) -> str:
    weight, rule, rate = choice
    return f"{weight:g}, {rule or 'all accepted'}, {rate:.0%}"
