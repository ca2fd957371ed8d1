"""The published release: all that it declares comes out again, and a changed digit is named."""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracles import experiment as oracle
from oracles.rows import made_up, write

from sqe_fast.errors import RecordError
from sqe_fast.experiment.release import read_release, verify_documents, verify_release
from sqe_fast.experiment.release.document import Node, mean, spread
from sqe_fast.experiment.release.rows import FROM
from sqe_fast.experiment.release.verify import WITH_ROWS
from sqe_fast.experiment.table import Column, cell_text

MULTISEED = "results_multiseed/multiseed_report.json"
PAIRED = "results_multiseed/multiseed_paired_tests.json"
PERCENT, POINTS = Column("x", "X", "percent"), Column("x", "X", "points")
INTERVAL, P = Column("x", "X", "interval"), Column("x", "X", "p", 3)


@pytest.fixture(scope="module")
def release(shared_data):
    return read_release(shared_data / "sqe_release")


@pytest.fixture(scope="module")
def verified(shared_data):
    return verify_release(shared_data / "sqe_release")


def test_every_declared_number_comes_out(verified):
    assert verified.ok
    assert [str(problem) for problem in verified.problems] == []
    assert verified.suspects == ()
    assert (verified.files, verified.numbers) == (77, 13061)
    assert verified.checks > 20_000


def test_no_number_is_left_out(verified):
    assert verified.free == ()
    assert verified.pinned / verified.numbers > 0.91
    assert verified.pinned + verified.bounded == verified.numbers


def test_says_what_needs_rows(verified):
    assert len(verified.tables) == 15
    assert "needs per-query rows" in verified.tables["case-examples"]
    assert verified.tables["multi-seed"] == "recomputed from the seeds' recalls"


@pytest.mark.parametrize(
    ("method", "published"),
    [
        ("Dense-Only", ("45.5±3.1", "68.5±2.7", "74.2±2.5")),
        ("Hybrid-RRF", ("32.5±1.5", "63.5±2.5", "71.8±2.6")),
        ("Always-Expand", ("39.8±3.1", "69.2±3.4", "75.9±2.3")),
        ("Random-Gated-Expansion", ("42.6±2.9", "68.9±3.0", "75.0±2.6")),
        ("Selective-QE", ("44.5±3.4", "69.4±2.7", "75.3±2.2")),
    ],
)
def test_published_means_and_deviations(release, method, published):
    reports = list(Node(MULTISEED, release[MULTISEED])["seed_reports"])
    for k, text in zip((1, 5, 10), published, strict=True):
        values = [report["methods"][method][f"recall@{k}"] for report in reports]
        shown = [cell_text(PERCENT, quantity(values).number) for quantity in (mean, spread)]
        assert "±".join(shown) == text


@pytest.mark.parametrize(
    ("baseline", "delta", "interval", "p"),
    [
        ("Dense-Only", "+0.9", "[+0.1, +1.7]", "0.015"),
        ("Hybrid-RRF", "+5.9", "[+4.8, +7.0]", "<0.001"),
        ("Always-Expand", "+0.1", "[-0.4, +0.7]", "0.315"),
        ("Random-Gated-Expansion", "+0.5", "[-0.2, +1.1]", "0.085"),
        ("Paraphrases-Only", "+1.1", "[+0.3, +1.9]", "0.005"),
        ("HyDE-Traces-Only", "+5.6", "[+4.7, +6.6]", "<0.001"),
    ],
)
def test_published_paired_differences(release, baseline, delta, interval, p):
    row = next(row for row in release[PAIRED]["rows"] if row["baseline"] == baseline)
    reports = release[MULTISEED]["seed_reports"]
    recalls = [[r["methods"][m]["recall@5"] for r in reports] for m in ("Selective-QE", baseline)]
    assert cell_text(POINTS, round((sum(recalls[0]) - sum(recalls[1])) / 8, 9)) == delta
    assert cell_text(INTERVAL, (row["ci_low"], row["ci_high"])) == interval
    assert cell_text(P, row["p_value"]) == p


@pytest.mark.parametrize(
    ("stem", "cost"),
    [
        ("selective", ("1.38", "209.2", "405.1", "2.77")),
        ("always_expand", ("2.99", "455.5", "899.3", "5.37")),
        ("traces_only", ("2.00", "367.0", "758.2", "3.99")),
        ("paraphrases_only", ("1.00", "88.5", "131.6", "1.02")),
        ("random_budget", ("1.41", "214.6", "423.9", "2.40")),
    ],
)
def test_published_cost(release, stem, cost):
    summary = release[f"results_tokenmeasured_500_seed42/{stem}_tokenmeasured500_summary.json"]
    keys = ("actual_llm_calls", "prompt_tokens", "total_tokens", "latency_seconds")
    columns = [Column("x", "X", "float", digits) for digits in (2, 1, 1, 2)]
    values = [summary[f"avg_{key}_per_query"] for key in keys]
    assert tuple(map(cell_text, columns, values)) == cost


def test_published_wins_gate_and_headroom(release):
    wins = release["results_multiseed/win_loss_analysis.json"]["aggregate"]
    assert (wins["selective_win"], wins["selective_loss"], wins["n_queries"]) == (140, 105, 4000)
    gate = release["results_500_memory_seed42/full_report_v2.json"]["error_analysis"]
    assert gate["expanded"]["count"] == 230
    assert [cell_text(PERCENT, gate[key]["recall"]) for key in ("expanded", "not_expanded")] == [
        "61.7",
        "75.9",
    ]
    headroom = release["results_gate_calibration/gate_headroom_diagnostics.json"]["aggregate"]
    assert cell_text(PERCENT, headroom["oracle_recall_mean"]) in ("73.5", "73.4")  # 0.7345, on the edge
    assert cell_text(PERCENT, headroom["helpful_rate_mean"]) == "5.3"
    assert headroom["harmful_rate_mean"] == 0.0415


def leaves_of(documents, keep):
    return [n for file, value in documents.items() for n in Node(file, value).numbers() if keep(n)]


def changed_digit(draw, value):
    """Change one digit of a number as JSON writes it, by at least 1e-7: a hundred times the tolerance."""
    text = repr(value)
    options = []
    for i, digit in enumerate(text):
        for other in "0123456789" if digit.isdigit() else "":
            new = type(value)(text[:i] + other + text[i + 1 :])
            if abs(new - value) >= 1e-7:
                options.append(new)
    return draw(st.sampled_from(options))


def replaced(documents, node, value):
    """A copy of the documents with one number changed."""
    documents = documents | {node.file: json.loads(json.dumps(documents[node.file]))}
    holder = documents[node.file]
    for step in node.path[:-1]:
        holder = holder[step]
    holder[node.path[-1]] = value
    return documents


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_changed_digit_is_found_and_named(release, pinned, data):
    """Files are drawn first, so that the large grids do not take all examples."""
    file = data.draw(st.sampled_from(sorted(pinned)))
    node = data.draw(st.sampled_from(pinned[file]))
    value = changed_digit(data.draw, node.value)
    report = verify_documents(replaced(release, node, value))
    assert not report.ok
    named = {suspect.key for one in report.suspects for suspect in one.nodes}
    assert node.key in named


@pytest.fixture(scope="module")
def pinned(release):
    found = {}
    for node in verify_documents(release).pinned_nodes:
        found.setdefault(node.file, []).append(node)
    return found


def test_names_file_path_and_both_values(release):
    node = Node(MULTISEED, release[MULTISEED])["aggregate"]["Dense-Only"]["recall@5_mean"]
    report = verify_documents(replaced(release, node, 0.684))
    text = str(report.problems[0])
    assert text.startswith(
        f"{MULTISEED}: aggregate.Dense-Only.recall@5_mean: declares 0.684; recomputed 0.685"
    )
    assert "mean of seed_reports[*].methods.Dense-Only.recall@5" in text
    assert str(report.suspects[0]) == (
        f"{MULTISEED}: aggregate.Dense-Only.recall@5_mean = 0.684 "
        "(explains 1 failed check, or else one of 8 more)"
    )


def test_two_changes_are_both_named(release):
    document = Node(MULTISEED, release[MULTISEED])
    first = document["seed_reports"][2]["methods"]["Hybrid-RRF"]["recall@5"]
    second = Node(
        "results_multiseed/win_loss_analysis.json", release["results_multiseed/win_loss_analysis.json"]
    )["aggregate"]["both_miss"]
    report = verify_documents(replaced(replaced(release, first, 0.682), second, 1121))
    assert {one.nodes[0].key for one in report.suspects} == {first.key, second.key}


def test_a_missing_file_or_key_is_a_problem(release):
    without = {
        file: value for file, value in release.items() if not file.endswith("seed44/proposed_summary.json")
    }
    text = "\n".join(map(str, verify_documents(without | {PAIRED: {"seeds": []}}).problems))
    assert PAIRED in text
    gone = {
        file: value for file, value in release.items() if not file.endswith("seed42/baselines_summary.json")
    }
    text = "\n".join(map(str, verify_documents(gone).problems))
    assert "seed42/baselines_summary.json: (file): declares nothing of use; must be there: is missing" in text


def test_a_folder_that_is_no_release_says_so(tmp_path: Path, shared_data):
    with pytest.raises(RecordError, match="no SQE release"):
        verify_release(tmp_path)
    folder = tmp_path / "results_500_memory_seed42"
    folder.mkdir()
    shutil.copy(shared_data / "sqe_release/results_500_memory_seed42/baselines_summary.json", folder)
    assert not verify_release(tmp_path).ok
    (folder / "baselines_summary.json").write_text("{")
    with pytest.raises(RecordError, match=r"baselines_summary.json: not readable as JSON"):
        verify_release(tmp_path)


@pytest.fixture
def with_rows(tmp_path):
    """Rows in the release's layout, and a few of its documents as restated from them in plain Python."""
    content = made_up(n=20, ours=False)
    root = write(tmp_path / "release", content, "results_500_memory_seed{}")
    reports, wins = [], []
    for seed, methods in content.items():
        told = {
            name: {
                "n_queries": len(rows),
                **{f"recall@{k}": oracle.recall(rows, k) for k in (1, 5, 10)},
                "mrr": float(oracle.mrr(rows)),
                "expansion_rate": sum(row["meta"]["expanded"] for row in rows) / len(rows),
            }
            for name, rows in methods.items()
        }
        reports.append({"seed": seed, "methods": told})
        deltas = oracle.deltas(methods["Selective-QE"], methods["Dense-Only"], 5)
        wins.append({"seed": seed, "selective_win": deltas.count(1), "selective_loss": deltas.count(-1)})
        baselines = [{"method": "Dense-Only", "n_queries": 20}]
        (root / f"results_500_memory_seed{seed}/baselines_summary.json").write_text(json.dumps(baselines))
    folder = root / "results_multiseed"
    folder.mkdir()
    (folder / "multiseed_report.json").write_text(json.dumps({"seed_reports": reports}))
    (folder / "win_loss_analysis.json").write_text(json.dumps({"rows": wins}))
    return root


def test_rows_beside_the_release_are_held_against_it(with_rows):
    def told():
        report = verify_release(with_rows)
        assert set(report.tables.values()) == {WITH_ROWS}
        return [str(problem) for problem in report.problems if problem.how == FROM]

    assert told() == []
    path = with_rows / "results_500_memory_seed43/dense_only_detailed.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    at = next(i for i, row in enumerate(rows) if row["hit@1"])
    rows[at]["retrieved_ids"].remove(rows[at]["target_id"])
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = told()
    for name in ("recall@1", "recall@5", "recall@10", "mrr"):
        assert any(f"seed_reports[1].methods.Dense-Only.{name}: declares" in one for one in found)
    assert all("seed_reports[0]" not in one for one in found)
