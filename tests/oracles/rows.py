"""Experiments made up row by row, in the release's form or ours."""

from __future__ import annotations

import json
import random

from sqe_fast.experiment.rows import METHOD_FILES

ALWAYS = ("Paraphrases-Only", "HyDE-Traces-Only", "Always-Expand")


def row(method, i, draw, top1, shared, gate):
    """One row: a target at a random rank or absent; `shared` is the id of the best dense hit."""
    target = f"t{i}"
    rank = draw.randrange(0, 14)
    ids = [f"{method[:3]}{i}.{j}" for j in range(10)]
    if method == "Dense-Only":
        ids[0] = shared
    if method == "BM25-Only" and draw.random() < 0.5:
        ids[draw.randrange(10)] = shared
    if rank < 10:
        ids[rank] = target
    expanded = method in ALWAYS or (method == "Selective-QE" and top1 < 0.65)
    expanded = expanded or (method == "Random-Gated-Expansion" and gate)
    prompt, completion = (draw.randrange(50, 500), draw.randrange(50, 500)) if expanded else (0, 0)
    meta = {
        "mode": method,
        "expanded": expanded,
        "top1_score_before_expansion": top1,
        "n_hypothetical_traces_generated": 2 * expanded,
        "n_paraphrases_generated": 2 * expanded,
        "n_ranked_lists_fused": 7 if expanded else 1,
        "llm_calls": 3 * expanded,
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "elapsed_seconds": draw.random(),
    }
    return {
        "query_id": f"q_{i:04d}",
        "query": f"what of {i}?",
        "target_id": target,
        "retrieved_ids": ids,
        "hit@1": target in ids[:1],
        "hit@10": target in ids,
        "meta": meta,
    }


def made_up(seeds=(42, 43), n=12, ours=True, salt=0, methods=tuple(METHOD_FILES)):
    """{seed: {method: rows}}; scores lie on thresholds often, and ids are not in order."""
    found = {}
    for seed in seeds:
        draw = random.Random(f"{seed} {salt}")
        order = draw.sample(range(n), n)
        scores = {i: round(draw.uniform(0.42, 0.82), 2) for i in order}
        found[seed] = {method: [] for method in methods}
        random_gate = random.Random(seed)  # as the protocol draws
        for i in order:
            gate = random_gate.random() < 0.46
            below = sorted(
                (scores[i] - draw.choice((0.0, 0.004, 0.012, 0.1)) for _ in range(9)), reverse=True
            )
            for method in methods:
                one = row(method, i, draw, scores[i], f"s{i}", gate)
                if ours:
                    one |= {"method": method, "scores": [scores[i], *below], "signals": {"top1": scores[i]}}
                    one |= {"cached_tokens": 0, "estimated_tokens": False}
                found[seed][method].append(one)
    return found


def write(root, content, form="seed{}/results"):
    """Write rows as files; `form` is the folder of a seed."""
    for seed, methods in content.items():
        folder = root / form.format(seed)
        folder.mkdir(parents=True, exist_ok=True)
        for method, rows in methods.items():
            text = "".join(json.dumps(one) + "\n" for one in rows)
            (folder / METHOD_FILES[method]).write_text(text)
    return root
