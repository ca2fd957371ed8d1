"""The benches' own pieces: corpora that stay the same, a right oracle, checks that catch mistakes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest

from bench import corpora, workloads
from bench.measure import race
from bench.oracle import Oracle, WrongResultError, check_result
from bench.peers import fusion, resampling
from bench.peers.base import Arrays, Engine
from bench.rows import FULL, GOALS, QUICK, Row, all_cases
from bench.rows.base import Goal
from bench.table import markdown

TEXTS = ["red fish swim", "blue fish", "old boat sails", "red boat and red sail", "tea", "old tea pot"]


class Fake(Engine):
    """Returns the oracle's best documents, changed by `spoil`."""

    name = "fake"

    def __init__(self, oracle: Oracle, spoil: str = "") -> None:
        self.oracle, self.spoil = oracle, spoil

    def build(self, texts: Iterable[str], threads: int = 1) -> None:
        raise NotImplementedError

    def prepare(self, queries: Sequence[str]) -> list[str]:
        return list(queries)

    def search(self, prepared: list[str], k: int, threads: int = 1) -> Any:
        rows = self.oracle.rows(prepared, "lucene", self.k1, self.b)
        ids = np.argsort(-rows, axis=1, kind="stable")[:, :k]
        scores = np.take_along_axis(rows, ids, axis=1)
        if self.spoil == "scores":
            scores = scores * 1.01
        if self.spoil == "documents":
            ids = (ids + 1) % rows.shape[1]
        if self.spoil == "constant factor":
            scores = scores / (self.k1 + 1)
        return ids, scores

    def arrays(self, result: Any, k: int) -> Arrays:
        return result[0].astype(np.int32), result[1].astype(np.float32)


def test_zipf_corpora_do_not_change() -> None:
    corpus = corpora.load("zipf5k")
    assert corpus.checksum == "973cd670"
    assert {len(text.split()) for text in corpus.texts} == {120}
    spec = corpora.CORPORA["zipf5k"]
    assert isinstance(spec, corpora.ZipfSpec)
    assert list(corpora.zipf_texts(spec, chunk=777)) == corpus.texts


def test_words_are_distinct_and_letters_only() -> None:
    words = corpora.vocabulary_words(50_000)
    assert len(set(words)) == 50_000
    assert all(word.isascii() and word.isalpha() and word.islower() for word in words)


def test_queries_are_the_same_again_and_of_the_asked_length() -> None:
    corpus = corpora.Corpus("small", TEXTS)
    assert corpora.queries(corpus, 30, 8) == corpora.queries(corpus, 30, 8)
    assert {len(query.split()) for query in corpora.queries(corpus, 30, 80)} == {80}
    assert all(
        sorted(q.split()) in [sorted(t.split()) for t in TEXTS] for q in corpora.queries(corpus, 30, 8)
    )


def test_summaries_are_skipped_with_a_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.delenv(corpora.SUMMARIES_VARIABLE, raising=False)
    with pytest.raises(corpora.CorpusUnavailableError, match="SQE_FAST_BENCH_SUMMARIES is not set"):
        corpora.load("pypi5k")
    lines = ["name\tversion\tmonth\trank\tsummary", "a\t1\t2020-01\t\tone two three four five six seven"]
    (tmp_path / "few.tsv").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setenv(corpora.SUMMARIES_VARIABLE, str(tmp_path / "few.tsv"))
    with pytest.raises(corpora.CorpusUnavailableError, match="holds 1 summaries"):
        corpora.load("pypi5k")


def test_the_oracle_equals_rank_bm25() -> None:
    rank_bm25 = pytest.importorskip("rank_bm25", reason="rank_bm25 is not installed")
    texts = corpora.load("zipf5k").texts[:300]
    index = rank_bm25.BM25Okapi([text.split() for text in texts])
    queries = [texts[3][:60], texts[7][:200], "unheardof " + texts[9][:30]]
    rows = Oracle(texts).rows(queries, "okapi", 1.5, 0.75)
    for row, query in zip(rows, queries, strict=True):
        np.testing.assert_allclose(row, index.get_scores(query.split()), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("spoil", ["", "constant factor"])
def test_the_check_lets_right_results_pass(spoil: str) -> None:
    oracle = Oracle(TEXTS)
    seen = check_result(oracle, Fake(oracle, spoil), ["red boat", "old tea tea"], 3)
    assert seen == {"share": 1.0, "factor": 2.5 if spoil else 1.0}


@pytest.mark.parametrize(
    ("spoil", "message"), [("scores", "scores are not"), ("documents", "documents do not")]
)
def test_the_check_catches_wrong_results(spoil: str, message: str) -> None:
    oracle = Oracle(TEXTS)
    with pytest.raises(WrongResultError, match=message):
        check_result(oracle, Fake(oracle, spoil), ["red boat", "old tea tea"], 3)


def test_the_check_catches_poor_results_of_an_engine_that_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fake, "comparable", False)
    oracle = Oracle(TEXTS)
    assert check_result(oracle, Fake(oracle, "scores"), ["red boat"], 2) == {"share": 1.0}
    with pytest.raises(WrongResultError, match="of the best score sum"):
        check_result(oracle, Fake(oracle, "documents"), ["red boat"], 2)


def test_numpy_fuses_as_the_dict_loop_does() -> None:
    shape = workloads.Fusion(queries=40, lists=3, depth=10, k=7)
    ids = workloads.fusion_ids(shape)
    assert all(len(set(ranked)) == 10 for query in ids.tolist() for ranked in query)
    found = fusion.numpy_batch(ids, shape.k)
    for row, query in zip(found.tolist(), workloads.fusion_lists(ids), strict=True):
        sums = dict(fusion.dict_loop(query, 10**6))
        best = [score for _, score in fusion.dict_loop(query, shape.k)]
        assert [sums[f"ep_{i:06d}"] for i in row] == pytest.approx(best, rel=1e-12)


def test_the_dict_loop_keeps_first_seen_order_on_ties() -> None:
    lists = [[("b", 1.0), ("a", 0.9)], [("a", 1.0), ("b", 0.9)]]
    assert fusion.dict_loop(lists, 2) == [("b", 1 / 61 + 1 / 62), ("a", 1 / 62 + 1 / 61)]


def test_both_numpy_bootstraps_agree() -> None:
    deltas = workloads.deltas(1_000)
    rows, counts = resampling.numpy_bootstrap(deltas, 4_000), resampling.numpy_multinomial(deltas, 4_000)
    assert rows[0] == counts[0]
    assert rows[1:3] == pytest.approx(counts[1:3], abs=5e-3)


def test_a_race_runs_every_side_and_reports_seconds() -> None:
    ran: list[str] = []
    times = race({"a": lambda: ran.append("a"), "b": lambda: ran.append("b")}, repeats=2)
    assert set(ran) == {"a", "b"}
    assert all(0 < timing.best <= timing.median for timing in times.values())


def test_goals_know_their_good_side() -> None:
    more, less = Goal(3, 4), Goal(0.5, 0.25, higher=False)
    assert [more.reached(value) for value in (2.9, 3, 4)] == ["below", "bar", "goal"]
    assert [less.reached(value) for value in (0.6, 0.5, 0.25)] == ["below", "bar", "goal"]
    assert Goal().reached(1.0) == ""


def test_every_case_has_a_goal_and_a_title_of_its_own() -> None:
    for settings in (FULL, QUICK):
        titles = [case.title for case in all_cases(settings)]
        assert len(set(titles)) == len(titles)
        assert {case.goal for case in all_cases(settings)} <= set(GOALS)
    assert {case.goal for case in all_cases(FULL)} == set(GOALS)


def test_the_table_shows_rows_limits_and_what_is_missing() -> None:
    row = Row(
        "RRF on id arrays, against the dict loop", "1 x 2 x 3 -> 4", 1500.0, 100.0, "items/s", 15.0, "n"
    )
    text = markdown({"CPU": "x"}, [row], [("some row", "skipped: no library")])
    assert "| 1 x 2 x 3 -> 4 | 1,500 | 100 | items/s | 15.00x | bar |" in text
    assert "(bar >= 14, goal >= 40)" in text
    assert "- some row: skipped: no library" in text
