"""Question sets from files, BEIR folders and the hub's layout; what is broken is told with its place."""

from __future__ import annotations

import gzip
import importlib.util
import json

import pytest

from sqe_fast.agent.qa.sets import HUB, SETS, Question, load_questions, set_order
from sqe_fast.errors import InvalidInputError, RecordError
from sqe_fast.readers import hub

ROW = {"id": "1", "question": "who?", "golden_answers": ["Ann", "Bo"]}


def write(path, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nq_open_dev.jsonl", "nq"),
        ("2wiki_500.jsonl", "2wiki"),
        ("2wikimultihopqa.jsonl", "2wiki"),
        ("HotpotQA-dev.jsonl", "hotpotqa"),
        ("mine.jsonl", "mine"),
    ],
)
def test_a_file_s_name_tells_its_set(tmp_path, name, expected):
    (question,) = load_questions(write(tmp_path / name, ROW))
    assert question == Question(expected, "1", "who?", ("Ann", "Bo"))
    assert load_questions(f"other={tmp_path / name}")[0].set == "other"


def test_all_real_files_read(shared_data):
    sizes = {
        "nq_open_dev": ("nq", 3610),
        "triviaqa_1000": ("triviaqa", 1000),
        "popqa_1000": ("popqa", 1000),
        "hotpotqa_dev": ("hotpotqa", 7405),
        "2wiki_500": ("2wiki", 500),
        "musique_500": ("musique", 500),
        "bamboogle": ("bamboogle", 125),
    }
    for stem, (name, size) in sizes.items():
        found = load_questions(str(shared_data / "qa" / f"{stem}.jsonl"))
        assert {question.set for question in found} == {name}
        assert len({question.key for question in found}) == len(found) == size


def test_a_beir_folder_gives_evidence_and_its_records_sets(shared_data):
    found = load_questions(str(shared_data / "ir" / "searchr1_wiki_pool"), limit=20)
    assert [question.set for question in found[:20]] == ["bamboogle"] * 20
    assert {question.set for question in found} == {"nq", "triviaqa", "popqa", "bamboogle"}
    assert len(found) == 80
    assert found[0].evidence == {"w7221", "w7222", "w7223"}
    assert found[0].question.startswith("Who was president of the United States in the year")
    alone = load_questions(f"pool={shared_data / 'ir' / 'searchr1_wiki_pool'}", limit=20)
    assert {question.set for question in alone} == {"pool"}
    assert [one.id for one in alone] == [one.id for one in found[:20]]


def test_qrels_count_what_is_judged_above_0(tmp_path):
    write(
        tmp_path / "queries.jsonl", {"_id": "q1", "text": "who?", "golden_answers": "Ann"}, ROW | {"id": "q2"}
    )
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\nq1\td3\t2\n"
    )
    one, two = load_questions(str(tmp_path))
    assert one.evidence == {"d1", "d3"}
    assert one.golden_answers == ("Ann",)
    assert two.evidence is None
    (tmp_path / "qrels" / "test.tsv").write_text("q1 d1 1\n")
    with pytest.raises(RecordError, match=r"test\.tsv:1"):
        load_questions(str(tmp_path))


def test_gzip_and_parquet(tmp_path):
    (tmp_path / "nq.jsonl.gz").write_bytes(gzip.compress(json.dumps(ROW).encode()))
    assert load_questions(str(tmp_path / "nq.jsonl.gz"))[0].set == "nq"
    if importlib.util.find_spec("pyarrow"):
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist([ROW]), tmp_path / "popqa.parquet")
        assert load_questions(str(tmp_path / "popqa.parquet"))[0] == Question(
            "popqa", "1", "who?", ("Ann", "Bo")
        )


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"id": "2", "golden_answers": ["a"]}, "needs the question"),
        ({"id": "2", "question": "  ", "golden_answers": ["a"]}, "needs the question"),
        ({"id": "2", "question": "x", "golden_answers": []}, "right answers"),
        ({"id": "2", "question": "x", "golden_answers": [3]}, "right answers"),
        ({"question": "x", "golden_answers": ["a"]}, "needs an id"),
        (ROW, "'1' was on an earlier line"),
        ([1], "must be an object"),
    ],
)
def test_a_broken_record_is_told_with_its_line(tmp_path, row, message):
    path = write(tmp_path / "nq.jsonl", ROW, row)
    with pytest.raises(RecordError, match=message) as told:
        load_questions(path)
    assert "nq.jsonl, line 2" in str(told.value)


def test_what_is_not_there(tmp_path):
    with pytest.raises(InvalidInputError, match=r"no question file or folder 'nope'.*nq, triviaqa"):
        load_questions("nope")
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises((InvalidInputError, RecordError), match="empty"):
        load_questions(str(tmp_path / "empty.jsonl"))
    with pytest.raises(InvalidInputError, match=r"holds none of queries\.jsonl"):
        load_questions(str(tmp_path))
    with pytest.raises(InvalidInputError, match="limit"):
        load_questions("nq", limit=0)


def test_the_hub_s_layout(monkeypatch):
    asked = []

    def records(name, split, config=None):
        asked.append((name, config, split))
        for number in range(10):
            assert number < 4, "read further than the limit"
            yield (
                number + 1,
                {"id": f"dev_{number}", "question": "q?", "golden_answers": ["a"], "metadata": {}},
            )

    monkeypatch.setattr(hub, "records", records)
    found = load_questions("2wiki", limit=3)
    assert [question.key for question in found] == [("2wiki", f"dev_{n}") for n in range(3)]
    assert asked == [(HUB, "2wikimultihopqa", "dev")]


@pytest.mark.filterwarnings("default")  # of the library's own
def test_the_library_reads_a_repository_laid_out_as_the_hub_s(tmp_path, monkeypatch):
    """A folder with configs in its card, read by `datasets` itself; only the network is not there."""
    if importlib.util.find_spec("datasets") is None:
        pytest.skip("datasets is not installed")
    from sqe_fast.agent.qa import sets

    for config, split in (("nq", "test"), ("hotpotqa", "dev")):
        row = {"id": f"{split}_0", "question": f"{config}?", "golden_answers": ["a", "b"]}
        write(tmp_path / config / f"{split}.jsonl", row, row | {"id": f"{split}_1"})
    configs = "".join(
        f"- config_name: {config}\n  data_files:\n  - split: {split}\n    path: {config}/{split}.jsonl\n"
        for config, split in (("nq", "test"), ("hotpotqa", "dev"))
    )
    (tmp_path / "README.md").write_text(f"---\nconfigs:\n{configs}---\n")
    monkeypatch.setattr(sets, "HUB", str(tmp_path))
    monkeypatch.chdir(tmp_path.parent)
    assert load_questions("hotpotqa") == [
        Question("hotpotqa", f"dev_{n}", "hotpotqa?", ("a", "b")) for n in range(2)
    ]
    assert load_questions("nq", limit=1) == [Question("nq", "test_0", "nq?", ("a", "b"))]
    with pytest.raises(InvalidInputError, match=r"popqa, split 'test'.*cannot be had"):
        load_questions("popqa")


def test_sets_come_in_the_papers_order():
    assert list(SETS) == ["nq", "triviaqa", "popqa", "hotpotqa", "2wiki", "musique", "bamboogle"]
    assert set_order(["zzz", "bamboogle", "own", "nq", "nq"]) == ["nq", "bamboogle", "own", "zzz"]
