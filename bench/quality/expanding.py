"""What expansion brings and costs: traces and paraphrases, one answer for both, stop rules, acceptance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from bench.quality.dev import STRENGTHS, Dev
from sqe_fast.batch import SearchBatch
from sqe_fast.engine import Engine
from sqe_fast.expand import Expander
from sqe_fast.expansion.parsing import cut_trace
from sqe_fast.expansion.prompts import STEP_END
from sqe_fast.experiment.table import Column, Table
from sqe_fast.gate import AlwaysGate, RateGate
from sqe_fast.gate.study import hits_of
from sqe_fast.methods import PARAPHRASES, TRACES, Method, get_method

COUNTS = ((0, 0), (1, 0), (2, 0), (0, 1), (0, 2), (1, 1), (2, 2))
RULES = (
    None,
    "top1 >= 0.6",
    "top1 >= question + 0.05",
    "top1_z >= question",
    "bm25_top1 >= 35",
    "idf_share >= 0.3",
    "lift >= 1.5",
    "lift >= 2",
    "lift >= 2.5",
    "lift >= 3",
    "lift >= 3.5",
    "lift >= 2.5 ~ 1",
)


def always(K: int, P: int, **more: object) -> Method:
    """Return sqe+ with its gate open, without acceptance, and with other numbers of probes."""
    added = tuple(source for source, count in ((TRACES, K), (PARAPHRASES, P)) if count)
    base = get_method("sqe+", k=10)
    gate = AlwaysGate() if added else get_method("hybrid+").gate
    return replace(base, name=f"K={K} P={P}", gate=gate, added=added, K=K, P=P, accept=None, **more)


def recalls(batch: SearchBatch, targets: Sequence[str], ks: Sequence[int] = (1, 5, 10)) -> list[float]:
    return [float(hits_of(batch, targets, k).mean()) for k in ks]


def counts_table(dev: Dev) -> Table:
    """Return recall against tokens for every number of traces and paraphrases, everything expanded."""
    rows = []
    for K, P in COUNTS:
        joints = (False, True) if K and P else (False,)
        briefs = (False, True) if K else (False,)
        for joint, brief in product(joints, briefs):
            cells = [f"{K} traces, {P} paraphrases" + ", one answer" * joint + ", brief" * brief]
            for strength in STRENGTHS:
                expander = Expander(dev.generators[strength], joint=joint, brief=brief)
                batch = Engine(dev.stores["code"], generator=expander).search(dev.questions, always(K, P))
                found = recalls(batch, dev.targets)
                tokens = batch.usage.total_tokens / len(dev.questions)
                cells += [*found, float(batch.usage.calls.mean()), tokens]
            rows.append(tuple(cells))
    columns = [Column("probes", "Expansion")]
    for strength in STRENGTHS:
        columns += [Column(f"{strength}_r{k}", f"{strength} R@{k}", "percent") for k in (1, 5, 10)]
        columns += [
            Column(f"{strength}_calls", "calls", "float"),
            Column(f"{strength}_tokens", "tokens", "float"),
        ]
    return Table(
        "counts",
        "Recall against tokens: every question expanded, nothing refused",
        tuple(columns),
        tuple(rows),
        (
            "Fusion of sqe+; calls and tokens of a question. Expansions are recorded: one answer for both "
            "kinds saves an instruction and brings the same probes. So does brief, the instruction in few "
            "words: its tokens are arithmetic, and no capable model has been asked with it.",
        ),
    )


def stop_table(dev: Dev) -> Table:
    """Return what ending a trace early saves in tokens, of the recorded traces."""
    rows = []
    for strength in STRENGTHS:
        generator = dev.generators[strength]
        made = [Expander(generator, K=2, P=0).expand([question])[0].traces for question in dev.questions]
        texts = [text for traces in made for text in traces]
        whole = np.array([generator.count(text) for text in texts])
        for end, lines in (("model", None), ("step", None), ("blank", None), ("step", 3)):
            cut = [cut_trace(text, STEP_END[end], lines) for text in texts]
            left = np.array([generator.count(text) for text in cut])
            name = end if lines is None else f"{end}, {lines} lines of observation"
            rows.append(
                (strength, name, float(whole.mean()), float(left.mean()), float((left < whole).mean()))
            )
    return Table(
        "stops",
        "Tokens of a trace under stop rules",
        (
            Column("strength", "Expansions"),
            Column("end", "A trace ends with"),
            Column("whole", "as recorded", "float"),
            Column("left", "with the rule", "float"),
            Column("shorter", "traces cut", "percent"),
        ),
        tuple(rows),
        ("Tokens only: the vectors of shortened traces are not recorded.",),
    )


def acceptance_table(dev: Dev, rate: float = 0.45) -> Table:
    """Return recall of rules of acceptance, everything expanded and with a gate."""
    methods = {}
    for rule in RULES:
        for share, gate in ((1.0, AlwaysGate()), (rate, RateGate(rate=rate, signal="fused_spread"))):
            name = f"{rule} {share}"
            methods[rule, share] = replace(
                get_method("sqe+", k=10), name=name, gate=gate, accept=None if rule is None else rule
            )
    found = {
        strength: dev.engine("code", strength).search_methods(dev.questions, list(methods.values()))
        for strength in STRENGTHS
    }
    rows = []
    for rule in RULES:
        cells: list[object] = [rule or "none"]
        for share in (1.0, rate):
            for strength in STRENGTHS:
                batch = found[strength][methods[rule, share].name]
                cells += [
                    recalls(batch, dev.targets, (5,))[0],
                    float(batch.expanded.sum() / batch.gated.sum()),
                ]
        rows.append(tuple(cells))
    columns = [Column("rule", "A trace is accepted where")]
    for share in ("all", f"{rate:.0%}"):
        for strength in STRENGTHS:
            columns += [
                Column(f"{share}_{strength}", f"{strength} R@5, {share} expanded", "percent"),
                Column(f"{share}_{strength}_accepted", "accepted", "percent"),
            ]
    return Table("acceptance", "Acceptance of one trace", tuple(columns), tuple(rows))
