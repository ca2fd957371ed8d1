"""An experiment drawn at random near the published figures, written in the form of our own runs."""

from __future__ import annotations

import json

import numpy as np

from sqe_fast.experiment.rows import METHOD_FILES, read_experiment
from sqe_fast.fusion import rrf_lists

LISTS = (
    "question dense",
    "question bm25",
    "trace 1 dense",
    "trace 1 bm25",
    "trace 2 dense",
    "trace 2 bm25",
    "paraphrase 1 dense",
    "paraphrase 2 dense",
)
# Of each list: where the target stands, how far its strength counts, and how much noise the list has.
TARGET = ((0, 1), (-0.5, 1.45), (0.35, 0.95), (-0.1, 1.3), (0.35, 0.95), (-0.1, 1.3), (0, 1), (0, 1))
NOISE = (0.3, 3, 0.8, 3, 0.8, 3, 0.5, 0.5)
NEIGHBOURS = 120
USES = {
    "Dense-Only": (0,),
    "BM25-Only": (1,),
    "Hybrid-RRF": (0, 1),
    "Paraphrases-Only": (0, 6, 7),
    "HyDE-Traces-Only": (0, 2, 3, 4, 5),
    "Always-Expand": (0, 2, 3, 4, 5, 6, 7),
}
CALLS = {"Paraphrases-Only": 1, "HyDE-Traces-Only": 2, "Always-Expand": 3}
TOKENS = {"Paraphrases-Only": (88, 43), "HyDE-Traces-Only": (367, 391), "Always-Expand": (455, 444)}
LEXICON = """the failing test of parser config import error path module return value cache file line build
fixture timeout retry index query token encoder merge branch commit patch assert traceback unicode header"""
WORDS = LEXICON.split()


def words(random, count):
    return " ".join(random.choice(WORDS, count))


def step_text(random):
    return (
        f"[THOUGHT] {words(random, 18)}.\n[ACTION] bash: grep -rn '{words(random, 2)}' src/\n"
        f"[OBSERVATION] {words(random, 60)}"
    )


def write_seed(folder, seed, n, pool=5000, documents=None):
    """Write the rows and probes of one seed; `documents` collects texts by id."""
    random = np.random.default_rng(seed)
    results = folder / f"seed{seed}" / "results"
    results.mkdir(parents=True)
    names = np.array([f"ep_{i:06d}" for i in range(pool)])
    targets = random.choice(pool, n, replace=False)
    files = {name: (results / METHOD_FILES[name]).open("w") for name in METHOD_FILES}
    ease = random.normal(0, 0.12)
    with (results / "probes.jsonl").open("w") as probes:
        for i, target in enumerate(targets):
            near = (
                target + np.concatenate([[0], 1 + random.choice(pool - 1, NEIGHBOURS, replace=False)])
            ) % pool
            base = random.normal(0, 1, len(near))
            strength = random.normal(2.95 + ease, 2.3)
            lists = []
            for (offset, slope), noise in zip(TARGET, NOISE, strict=True):
                score = base + random.normal(0, noise, len(near))
                score[0] = offset + slope * strength + random.normal(0, 0.5 * min(noise, 1))
                order = np.argsort(-score, kind="stable")[:20]
                lists.append((names[near[order]].tolist(), score[order]))
            query_id, goal = f"q{i:04d}", str(names[target])
            query = f"{words(random, 9).capitalize()} <b>&amp; {seed}</b>?"
            top1 = float(0.55 + 0.03 * lists[0][1][0] + random.normal(0, 0.01))
            gates = {
                "Selective-QE": top1 < 0.65,
                "Random-Gated-Expansion": random.random() < 0.46,
            }
            for name, file in files.items():
                way = name if name in USES else ("Always-Expand" if gates[name] else "Dense-Only")
                used = [lists[place] for place in USES[way]]
                fused = rrf_lists([list(zip(*part, strict=True)) for part in used], k=10)
                ids = used[0][0][:10] if len(used) == 1 else [name for name, _ in fused]
                prompt, completion = TOKENS.get(way, (0, 0))
                file.write(
                    json.dumps(
                        {
                            "query_id": query_id,
                            "query": query,
                            "target_id": goal,
                            "retrieved_ids": ids,
                            "hit@1": goal in ids[:1],
                            "hit@10": goal in ids,
                            "meta": {
                                "mode": name,
                                "expanded": way in CALLS,
                                "top1_score_before_expansion": top1,
                                "n_ranked_lists_fused": len(used),
                                "llm_calls": CALLS.get(way, 0),
                                "prompt_tokens": prompt + int(random.integers(-9, 9)) * bool(prompt),
                                "completion_tokens": int(completion * random.uniform(0.8, 1.2)),
                                "elapsed_seconds": 0.03 + 1.8 * CALLS.get(way, 0),
                            },
                            "scores": [round(1 / (61 + rank), 6) for rank in range(len(ids))],
                            "signals": {"top1": top1, "margin": abs(float(random.normal(0, 0.02)))},
                            "lists": [LISTS[place] for place in USES[way]],
                            "refused": {"trace 2": "top1 0.41 < 0.5"} if i == 2 and way in CALLS else {},
                            "problem": "traces: time-out" if i == 1 and way in CALLS else None,
                        }
                    )
                    + "\n"
                )
            probes.write(
                json.dumps(
                    {
                        "query_id": query_id,
                        "query": query,
                        "target_id": goal,
                        "traces": [
                            step_text(random),
                            step_text(random) + "</script><script>alert(1)</script>",
                        ],
                        "paraphrases": [words(random, 14), words(random, 14)],
                        "problem": None,
                        "lists": [
                            {
                                "name": name,
                                "ids": ids,
                                "scores": (
                                    0.55 + 0.03 * scores if "dense" in name else 12 + 4 * scores
                                ).tolist(),
                                "target_rank": ids.index(goal) + 1 if goal in ids else None,
                            }
                            for name, (ids, scores) in zip(LISTS, lists, strict=True)
                        ],
                    }
                )
                + "\n"
            )
    for file in files.values():
        file.close()


def make_experiment(folder, seeds=(42, 43), n=40):
    """Write and read an experiment."""
    for seed in seeds:
        write_seed(folder, seed, n)
    return read_experiment(folder)


def texts_of(seed, ids):
    """Give each id a text, as a store would."""
    found = {}
    for name in ids:
        turn = int(name[3:]) + seed
        told = " ".join(WORDS[(turn + i * i) % len(WORDS)] for i in range(80))
        found[name] = f"{name} of seed {seed}\n[THOUGHT] {told}\n[ACTION] bash: ls\n[OBSERVATION] nothing"
    return found
