"""Rows: round trip, both layouts, and what is told of rows that do not fit."""

from __future__ import annotations

import json
import math
import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqe_fast.batch import SearchBatch
from sqe_fast.errors import InvalidInputError, InvalidTypeError, RecordError
from sqe_fast.experiment.rows import (
    METHOD_FILES,
    file_of,
    read_experiment,
    read_probes,
    read_rows,
    read_seed,
    write_rows,
)
from sqe_fast.hits import Hits
from sqe_fast.methods import METHODS, get_method
from sqe_fast.usage import Usage

SOME = ("Dense-Only", "Hybrid-RRF", "Always-Expand", "Selective-QE")


@st.composite
def batches(draw):
    """A SearchBatch of any content, with ids and targets of its questions."""
    method = get_method(draw(st.sampled_from(sorted(METHODS))), k=10)
    n = draw(st.integers(1, 6))
    texts = st.text(st.characters(), min_size=1, max_size=8)
    ids = tuple(tuple(draw(st.lists(texts, max_size=10, unique=True))) for _ in range(n))
    hits = Hits(np.full((n, 10), -1, np.int32), np.full((n, 10), -np.inf, np.float32))
    score = st.floats(-1e6, 1e6, width=32)
    for row, names in enumerate(ids):
        hits.ids[row, : len(names)] = np.arange(len(names))
        hits.scores[row, : len(names)] = [draw(score) for _ in names]
    signals = {
        name: np.array([draw(st.floats(width=32)) for _ in range(n)], np.float32)
        for name in draw(st.sampled_from([(), ("top1",), ("top1", "margin")]))
    }
    counts = st.lists(st.integers(0, 2**40), min_size=n, max_size=n)
    lengths = draw(st.lists(st.integers(-1, 20), min_size=n * len(method.list_names), max_size=n * 99))
    batch = SearchBatch(
        method=method,
        questions=tuple(draw(texts) for _ in range(n)),
        hits=hits,
        ids=ids,
        gated=np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), np.bool_),
        signals=signals,
        lists=method.list_names,
        lengths=np.array(lengths[: n * len(method.list_names)], np.int32).reshape(n, -1),
        problems=tuple(draw(st.none() | texts) for _ in range(n)),
        usage=Usage.of(draw(counts), draw(counts), draw(counts), draw(counts), draw(st.booleans())),
        seconds={"total": 1.0},
    )
    names = draw(st.lists(texts, min_size=n, max_size=n, unique=True))
    targets = [
        draw(st.sampled_from(row) if row else texts) if draw(st.booleans()) else draw(texts) for row in ids
    ]
    seconds = draw(st.none() | st.lists(st.floats(0, 1e6), min_size=n, max_size=n))
    return batch, names, targets, seconds


@given(batches())
def test_what_is_written_is_read(tmp_path_factory, case):
    batch, names, targets, seconds = case
    path = tmp_path_factory.mktemp("rows") / file_of(batch.method)
    write_rows(path, batch, names, targets, seconds=seconds)
    rows = read_rows(path)
    assert rows.method == batch.method.name
    assert (rows.query_ids, rows.queries, rows.targets) == (tuple(names), batch.questions, tuple(targets))
    assert rows.retrieved == batch.ids
    assert rows.lines == tuple(range(1, len(batch) + 1))
    wanted = [ids.index(aim) + 1 if aim in ids else 0 for ids, aim in zip(batch.ids, targets, strict=True)]
    assert rows.rank.tolist() == wanted
    for k in (1, 5, 10):
        assert rows.hit(k).tolist() == [0 < rank <= k for rank in wanted]
    assert rows.expanded.tolist() == batch.expanded.tolist()
    assert rows.calls.tolist() == batch.usage.calls.tolist()
    assert rows.prompt_tokens.tolist() == batch.usage.prompt_tokens.tolist()
    assert rows.completion_tokens.tolist() == batch.usage.completion_tokens.tolist()
    assert rows.cached_tokens.tolist() == batch.usage.cached_tokens.tolist()
    top1 = batch.signals.get("top1", np.full(len(batch), np.nan, np.float32)).astype(float)
    assert np.array_equal(rows.top1, np.where(np.isfinite(top1), top1, np.nan), equal_nan=True)
    assert np.array_equal(
        rows.seconds, np.full(len(batch), np.nan) if seconds is None else seconds, equal_nan=True
    )
    for row, scores, count in zip(rows.raw, batch.hits.scores, batch.hits.counts, strict=True):
        assert row["scores"] == scores[:count].tolist()
        assert row["hit@1"] == (row["target_id"] in row["retrieved_ids"][:1])
        meta = row["meta"]
        assert meta["total_tokens"] == meta["prompt_tokens"] + meta["completion_tokens"]
        assert meta["n_ranked_lists_fused"] == len(row["lists"])
        assert math.isfinite(meta["top1_score_before_expansion"] or 0)


def test_the_form_is_the_releases(tiny_experiment):
    rows = read_rows(tiny_experiment / "seed42" / "results" / "proposed_detailed.jsonl").raw
    of_release = ["query_id", "query", "target_id", "retrieved_ids", "hit@1", "hit@10", "meta"]
    assert list(rows[0])[:7] == of_release
    assert list(rows[0]["meta"]) == [
        *("mode", "expanded", "top1_score_before_expansion", "n_hypothetical_traces_generated"),
        *("n_paraphrases_generated", "n_ranked_lists_fused", "llm_calls", "prompt_tokens"),
        *("completion_tokens", "total_tokens", "elapsed_seconds"),
    ]
    expanded = next(row for row in rows if row["meta"]["expanded"])
    meta = expanded["meta"]
    assert (meta["mode"], meta["n_ranked_lists_fused"]) == ("selective", 7)
    assert (meta["n_hypothetical_traces_generated"], meta["n_paraphrases_generated"]) == (2, 2)


def test_all_methods_of_a_seed_are_aligned(tiny_experiment):
    experiment = read_experiment(tiny_experiment)
    assert [one.seed for one in experiment.seeds] == [42, 43]
    for one in experiment.seeds:
        assert list(one.methods) == [*METHOD_FILES, "Oracle"]
        assert len(one) == 24
        for rows in one.methods.values():
            assert (rows.query_ids, rows.queries, rows.targets) == (one.query_ids, one.queries, one.targets)
    assert [one.seed for one in read_experiment(tiny_experiment, [43]).seeds] == [43]
    assert read_seed(tiny_experiment / "seed43").seed == 43
    assert read_seed(tiny_experiment / "seed43" / "results").seed == 43


@pytest.fixture
def copy(tiny_experiment, tmp_path):
    """A copy of four methods of seed 42, to be damaged."""
    folder = tmp_path / "results_500_memory_seed42"
    folder.mkdir()
    for name in SOME:
        shutil.copy(tiny_experiment / "seed42" / "results" / METHOD_FILES[name], folder)
    return folder


def lines_of(path):
    return path.read_text().splitlines()


def change(path, line, edit):
    """Rewrite one line (from 1) of a file of rows."""
    lines = lines_of(path)
    row = json.loads(lines[line - 1])
    edit(row)
    lines[line - 1] = json.dumps(row)
    path.write_text("\n".join(lines) + "\n")


def test_the_releases_layout_and_rows_are_read(copy):
    """Rows with the release's keys alone; its baselines may even lack `meta`."""
    for path in copy.iterdir():
        lines = []
        for line in lines_of(path):
            row = json.loads(line)
            kept = {name: row[name] for name in list(row)[:7]}
            if path.name == "dense_only_detailed.jsonl":
                del kept["meta"]
            lines.append(json.dumps(kept))
        path.write_text("\n".join(lines))
    one = read_experiment(copy.parent).seeds[0]
    assert (one.seed, list(one.methods)) == (42, list(SOME))
    assert one.methods["Selective-QE"].calls.sum() > 0
    assert not one.methods["Selective-QE"].signals
    dense = one.methods["Dense-Only"]
    assert np.isnan(dense.top1).all()
    assert not dense.expanded.any()
    assert dense.hit(10).any()


def test_rows_in_another_order_are_aligned(copy):
    path = copy / METHOD_FILES["Hybrid-RRF"]
    before = read_seed(copy).methods["Hybrid-RRF"]
    path.write_text("\n".join(reversed(lines_of(path))))
    after = read_seed(copy).methods["Hybrid-RRF"]
    assert after.query_ids == before.query_ids
    assert after.rank.tolist() == before.rank.tolist()
    assert after.raw == before.raw
    assert after.lines == before.lines[::-1]
    assert np.array_equal(after.signals["top1"], before.signals["top1"])


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            lambda row: row.update(query_id="other"),
            "hybrid_rrf_detailed.jsonl:3: query_id 'other' is not in dense",
        ),
        (
            lambda row: row.update(query_id="q0004"),
            "hybrid_rrf_detailed.jsonl:5: query_id 'q0004' stands on line 3",
        ),
        (
            lambda row: row.update(target_id="e"),
            "hybrid_rrf_detailed.jsonl:3: .* target 'e'; dense.*:3 has 'e",
        ),
        (
            lambda row: row.update(query="?"),
            "hybrid_rrf_detailed.jsonl:3: .* another query than dense_only.*:3",
        ),
        (lambda row: row.pop("query_id"), ":3: query_id must be a str that is not empty; got none"),
        (lambda row: row.update(target_id=7), ":3: target_id must be a str that is not empty; got int 7"),
        (lambda row: row.update(retrieved_ids=["a", 1]), ":3: retrieved_ids must be a list of str"),
        (lambda row: row.update({"hit@1": "yes"}), ":3: hit@1 must be true or false; got str 'yes'"),
        (lambda row: row.update(meta=[]), ":3: meta must be an object"),
        (lambda row: row["meta"].update(expanded=1), ":3: expanded must be true or false"),
        (
            lambda row: row["meta"].update(llm_calls=-1),
            ":3: llm_calls must be a count, 0 or more; got int -1",
        ),
        (lambda row: row["meta"].update(prompt_tokens=1.5), ":3: prompt_tokens must be a count"),
        (lambda row: row["meta"].update(elapsed_seconds="1"), ":3: elapsed_seconds must be a number"),
        (lambda row: row.update(signals={"top1": True}), ":3: top1 must be a number"),
        (lambda row: row.update(cached_tokens=True), ":3: cached_tokens must be a count"),
    ],
)
def test_a_row_that_does_not_fit_is_named(copy, edit, message):
    change(copy / METHOD_FILES["Hybrid-RRF"], 3, edit)
    with pytest.raises(RecordError, match=message):
        read_seed(copy)


def test_a_dropped_row_and_broken_lines_are_named(copy):
    path = copy / METHOD_FILES["Hybrid-RRF"]
    lines = lines_of(path)
    path.write_text("\n".join(lines[:5] + lines[6:]))
    with pytest.raises(
        RecordError, match=r"hybrid_rrf.*: no row of query_id 'q0005', which dense_only.*:6 has"
    ):
        read_seed(copy)
    path.write_text("\n".join([*lines[:2], lines[2][:-9], *lines[3:]]))
    with pytest.raises(RecordError, match=r"hybrid_rrf_detailed.jsonl:3: not a line of JSON"):
        read_seed(copy)
    path.write_bytes(b"\n\n[1]\n")
    with pytest.raises(RecordError, match=r":3: a row must be an object; got list"):
        read_rows(path)
    path.write_bytes(b"\n\n\xff\n")
    with pytest.raises(RecordError, match=r":3: not a line of JSON"):
        read_rows(path)
    path.write_text("\n")
    with pytest.raises(InvalidInputError, match="holds no rows"):
        read_rows(path)


def test_what_is_not_there_is_told(copy, tmp_path):
    with pytest.raises(InvalidInputError, match="there is no folder"):
        read_experiment(tmp_path / "nowhere")
    with pytest.raises(InvalidInputError, match="holds no rows of seed 44; it has 42"):
        read_experiment(tmp_path, [42, 44])
    with pytest.raises(InvalidInputError, match=r"holds no rows: folders seedN/results"):
        read_experiment(copy)
    with pytest.raises(InvalidInputError, match=r"cannot read the rows .*: No such file"):
        read_rows(copy / "none_detailed.jsonl")
    plain = copy.rename(tmp_path / "plain")
    with pytest.raises(InvalidInputError, match="'plain' does not end with a seed"):
        read_seed(plain)
    assert read_seed(plain, 7).seed == 7
    assert read_probes(plain) is None
    (tmp_path / "seed8").mkdir()
    with pytest.raises(InvalidInputError, match="holds no rows"):
        read_seed(tmp_path / "seed8")
    shutil.copytree(plain, tmp_path / "seed9")
    shutil.copytree(plain, tmp_path / "old_seed9")
    with pytest.raises(InvalidInputError, match="two folders hold rows of seed 9"):
        read_experiment(tmp_path)


def test_two_files_of_one_method_are_refused(copy):
    shutil.copy(copy / METHOD_FILES["Hybrid-RRF"], copy / "other_detailed.jsonl")
    with pytest.raises(InvalidInputError, match="both hold rows of Hybrid-RRF"):
        read_seed(copy)


def test_writing_refuses_what_does_not_fit(tiny_experiment, tmp_path):
    n = 2
    method = get_method("dense")
    batch = SearchBatch(
        method,
        ("a", "b"),
        Hits(np.full((n, 5), -1, np.int32), np.full((n, 5), -np.inf, np.float32)),
        ((), ()),
        np.zeros(n, np.bool_),
        {},
        method.list_names,
        np.zeros((n, 1), np.int32),
        (None, None),
        Usage.zeros(n),
        {"total": 0.0},
    )
    with pytest.raises(InvalidInputError, match="targets must have one entry a question, 2; got 1"):
        write_rows(tmp_path / "x", batch, ["1", "2"], ["t"])
    with pytest.raises(InvalidInputError, match="seconds must have one entry a question, 2; got 3"):
        write_rows(tmp_path / "x", batch, ["1", "2"], ["t", "t"], seconds=[1, 2, 3])
    assert not (tmp_path / "x").exists()
    rows = read_rows(tiny_experiment / "seed42" / "results" / METHOD_FILES["Dense-Only"])
    with pytest.raises(InvalidInputError, match="k must be from 1"):
        rows.hit(0)
    with pytest.raises(InvalidTypeError, match="k must be an int"):
        rows.hit(1.5)
