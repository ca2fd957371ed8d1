"""Damage of every kind is found, and told by row."""

import json
import random
import re
import shutil
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracles.rows import made_up, write
from oracles.small import ScriptedGenerator, TextEncoder

from sqe_fast.cli import main
from sqe_fast.errors import InvalidInputError
from sqe_fast.experiment._verify.rows import check_rows
from sqe_fast.experiment.page import PAGE, page_parts, write_page
from sqe_fast.experiment.report import write_report
from sqe_fast.experiment.rows import METHOD_FILES, read_experiment, read_rows, read_seed
from sqe_fast.experiment.run import run
from sqe_fast.experiment.settings import RunSettings
from sqe_fast.experiment.tables import ReportSettings, build_tables
from sqe_fast.experiment.verify import verify_experiment
from sqe_fast.gate import RateGate
from sqe_fast.methods import Stage, get_method

FAST = ReportSettings(resamples=200, seed_resamples=200)
MADE = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def save(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def told(root, **more):
    return [str(finding) for finding in verify_experiment(root, **more).findings]


@pytest.fixture
def real(tiny_experiment, tmp_path):
    """A copy of an experiment that was really run, with its report."""
    root = tmp_path / "exp"
    shutil.copytree(tiny_experiment, root)
    write_report(root / "report", read_experiment(root), FAST)
    return root


@pytest.fixture
def bare(tmp_path):
    """Rows alone, in the release's layout: no manifest, no questions, no store."""
    return write(tmp_path / "exp", made_up(n=10), "results_500_memory_seed{}")


def test_a_sound_experiment_adds_up(real):
    report = verify_experiment(real)
    assert [str(finding) for finding in report.findings] == []
    assert report.ok
    assert (report.seeds, report.rows, report.tables, dict(report.missing)) == ((42, 43), 432, 15, {})


ACCEPTING = "top1 >= question + 0.1"
KINDS = (
    replace(get_method("traces", accept=ACCEPTING), name="Careful", alias="careful"),
    replace(get_method("traces", accept=ACCEPTING, fusion="zscore"), name="Summed", alias="summed"),
    replace(get_method("always", weights={"paraphrase*": 0}), name="Weighted", alias="weighted"),
    replace(get_method("traces", weigh_by="spread", accept="lift >= 2 ~ 1"), name="Weighed", alias="weighed"),
    replace(get_method("always", stages=(Stage(1, 0, ACCEPTING),)), name="Cascade", alias="cascade"),
    replace(get_method("sqe"), name="Half", alias="half", gate=RateGate(0.5, signal="spread")),
)


@pytest.mark.filterwarnings("ignore:.* was chosen for stores with")
@pytest.mark.parametrize("joint", [False, True])
def test_rows_of_every_kind_of_method_add_up(tiny_prepared, tmp_path, joint):
    """Fused by scores, weighted, accepted, in steps: also where every probe of a question was refused."""
    shutil.copytree(tiny_prepared, tmp_path / "exp")
    chosen = RunSettings(methods=("dense", "always", "oracle", "hybrid+", "sqe+", *KINDS), joint=joint)
    run(tmp_path / "exp", TextEncoder(), ScriptedGenerator(), settings=chosen)
    assert told(tmp_path / "exp") == []
    rows = {name: part.raw for name, part in read_seed(tmp_path / "exp/seed42").methods.items()}
    for name in ("Careful", "Summed", "SQE-Plus"):
        assert any(row["refused"] and not row["meta"]["expanded"] for row in rows[name])
    assert {row["steps"] for row in rows["Cascade"]} == {1, 2}


def test_rows_of_the_release_add_up(bare):
    report = verify_experiment(bare)
    assert (told(bare), report.tables, report.rows) == ([], None, 160)


def test_runs_with_measured_tokens_lie_beside_the_release(bare):
    """Under names of their own, in a folder of the same seed; two folders of equal names are refused."""
    beside = bare / "results_tokenmeasured_500_seed42"
    beside.mkdir()
    shutil.copy(
        bare / "results_500_memory_seed42/proposed_detailed.jsonl",
        beside / "selective_tokenmeasured500_detailed.jsonl",
    )
    assert told(bare) == []
    assert [len(seed.methods) for seed in read_experiment(bare).seeds] == [8, 8]
    (beside / "selective_tokenmeasured500_detailed.jsonl").rename(beside / "proposed_detailed.jsonl")
    with pytest.raises(InvalidInputError, match="two folders hold rows of seed 42"):
        verify_experiment(bare)


def flip_hit(row):
    row["hit@10"] = not row["hit@10"]


def lose_target(row):
    row["retrieved_ids"] = [f"x{i}" for i in range(10)] if row["hit@10"] else [row["target_id"]]


def repeat(row):
    row["retrieved_ids"][1] = row["retrieved_ids"][0]


def other_target(row):
    row["target_id"] = "elsewhere"


def other_query(row):
    row["query"] += " And then?"


def more_tokens(row):
    row["meta"]["total_tokens"] += 1


def other_score(row):
    row["meta"]["top1_score_before_expansion"] += 0.001


def rename(row):
    row["query_id"] = "nobody"


def rising(row):
    row["scores"][3] += 5


def other_method(row):
    row["method"] = row["meta"]["mode"] = "HyDE"


DAMAGES = [
    flip_hit,
    lose_target,
    repeat,
    other_target,
    other_query,
    more_tokens,
    other_score,
    rename,
    rising,
    other_method,
]


@MADE
@given(
    damage=st.sampled_from(DAMAGES),
    seed=st.sampled_from([42, 43]),
    method=st.sampled_from(sorted(METHOD_FILES)),
    at=st.integers(0, 9),
)
def test_a_damaged_row_is_found_by_its_line(bare, damage, seed, method, at):
    """From the rows alone: no checksum tells."""
    path = bare / f"results_500_memory_seed{seed}" / METHOD_FILES[method]
    before = path.read_text()
    rows = rows_of(path)
    damage(rows[at])
    save(path, rows)
    found = verify_experiment(bare).findings
    path.write_text(before)
    where = f"results_500_memory_seed{seed}/{path.name}:{at + 1}"
    assert any(finding.where == where for finding in found), [str(finding) for finding in found]


@MADE
@given(st.data())
def test_any_changed_byte_of_a_real_run_is_found(real, data):
    """In the rows, the questions, the manifest of the preparation or the stored tables."""
    files = sorted(
        path for path in real.rglob("*") if path.suffix in (".json", ".jsonl", ".csv", ".md", ".tex")
    )
    loose = ("prepare.log.jsonl", "results/manifest.json")  # times and machines, which nothing repeats
    files = [path for path in files if "memory" not in path.parts and not path.as_posix().endswith(loose)]
    path = data.draw(st.sampled_from(files))
    before = path.read_bytes()
    at = data.draw(st.integers(0, len(before) - 1))
    new = data.draw(st.sampled_from([byte for byte in b'0159ae", {' if byte != before[at]]))
    path.write_bytes(before[:at] + bytes([new]) + before[at + 1 :])
    try:
        report = verify_experiment(real)
    finally:
        path.write_bytes(before)
    assert not report.ok


@MADE
@given(st.data())
def test_a_changed_manifest_of_a_run_stops_no_check(real, data):
    """It holds times and machines, so not every change is wrong; but each is survived."""
    path = real / "seed42/results/manifest.json"
    before = path.read_bytes()
    at = data.draw(st.integers(0, len(before) - 1))
    path.write_bytes(before[:at] + bytes([data.draw(st.sampled_from(b'0", {}[x'))]) + before[at + 1 :])
    try:
        assert verify_experiment(real).rows == 432
    finally:
        path.write_bytes(before)


@pytest.mark.parametrize(
    ("path", "value", "what"),
    [
        (("choices", "methods"), [], "does not say which methods were run"),
        (("choices", "methods", "Random-Gated-Expansion", "rate"), "half", "rate must be a number"),
        (("choices", "methods", "Selective-QE", "threshold"), None, "threshold must be a number"),
        (("complete",), False, "was not completed"),
    ],
)
def test_a_manifest_that_makes_no_sense_is_told(real, path, value, what):
    file = real / "seed43/results/manifest.json"
    manifest = json.loads(file.read_text())
    holder = manifest
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    file.write_text(json.dumps(manifest))
    assert any(one.startswith("seed43/results/manifest.json: ") and what in one for one in told(real))


@pytest.mark.parametrize("at", [0, 7, 23])
def test_a_dropped_row_is_told_by_its_query(real, at):
    path = real / "seed43/results/proposed_detailed.jsonl"
    rows = rows_of(path)
    gone = rows.pop(at)
    save(path, rows)
    text = "\n".join(told(real))
    assert f"seed43/results/proposed_detailed.jsonl ({gone['query_id']}): has no row of it" in text
    assert "seed43/results/proposed_detailed.jsonl: was changed: another checksum" in text
    assert "report: the tables cannot be made from the rows" in text


def test_a_dropped_row_is_told_without_manifests(bare):
    path = bare / "results_500_memory_seed42/traces_only_detailed.jsonl"
    rows = rows_of(path)
    gone = rows.pop(4)
    save(path, rows)
    assert told(bare) == [
        f"results_500_memory_seed42/traces_only_detailed.jsonl ({gone['query_id']}): "
        "has no row of it; most files has one"
    ]


def test_swapped_results_of_two_seeds_are_told(real):
    (real / "seed42/results").rename(real / "spare")
    (real / "seed43/results").rename(real / "seed42/results")
    (real / "spare").rename(real / "seed43/results")
    text = "\n".join(told(real))
    for one, other in ((42, 43), (43, 42)):
        assert f"seed{one}/results/manifest.json: is of seed {other}, in the folder of seed {one}" in text
        assert f"seed{one}/results/manifest.json: the run was made from another manifest.json" in text
    assert "in questions.jsonl it is" in text


def test_renamed_folders_of_two_seeds_are_told(real):
    (real / "seed42").rename(real / "spare")
    (real / "seed43").rename(real / "seed42")
    (real / "spare").rename(real / "seed43")
    text = "\n".join(told(real))
    assert "seed42/manifest.json: is of seed 43, in the folder of seed 42" in text
    assert "random_budget_detailed.jsonl" not in text  # the gate's seed is in the run's manifest
    assert "recall@5 of Dense-Only is" in text


def test_swapped_seeds_of_the_release_are_told_by_the_draws_of_the_random_gate(tmp_path):
    """Its rows name no seed; but which queries the random gate opens for follows from it."""
    root = write(tmp_path / "exp", made_up(n=40), "results_500_memory_seed{}")
    assert told(root) == []
    (root / "results_500_memory_seed42").rename(root / "spare")
    (root / "results_500_memory_seed43").rename(root / "results_500_memory_seed42")
    (root / "spare").rename(root / "results_500_memory_seed43")
    found = told(root)
    assert found
    assert all("random_budget_detailed.jsonl" in one for one in found)
    assert any("the gate is shut" in one for one in found)


def test_swapped_rows_of_one_method_are_told(real):
    one, other = (real / f"seed{seed}/results/bm25_only_detailed.jsonl" for seed in (42, 43))
    a, b = one.read_bytes(), other.read_bytes()
    one.write_bytes(b)
    other.write_bytes(a)
    text = "\n".join(told(real))
    assert "seed42/results/bm25_only_detailed.jsonl:1" in text
    assert "in questions.jsonl it is" in text


def test_an_exchanged_list_is_told_by_the_method_it_was_recombined_from(real):
    path = real / "seed42/results/proposed_detailed.jsonl"
    rows = rows_of(path)
    at = next(i for i, row in enumerate(rows) if not row["meta"]["expanded"])
    ids = rows[at]["retrieved_ids"]
    others = [i for i, one in enumerate(ids) if one != rows[at]["target_id"]][:2]
    ids[others[0]], ids[others[1]] = ids[others[1]], ids[others[0]]
    save(path, rows)
    text = "\n".join(told(real))
    assert (
        f"seed42/results/proposed_detailed.jsonl:{at + 1} ({rows[at]['query_id']}): other retrieved_ids"
        in text
    )


def test_a_decision_against_the_gate_is_told(real):
    path = real / "seed42/results/proposed_detailed.jsonl"
    rows = rows_of(path)
    rows[5]["gated"] = not rows[5]["gated"]
    save(path, rows)
    assert any("proposed_detailed.jsonl:6" in one and "but the gate gives" in one for one in told(real))


def test_a_gate_is_tried_anew_as_the_manifest_tells_it(bare):
    """Any threshold on any signal that the rows hold, in either direction; other gates are not known here."""
    rows = read_rows(bare / "results_500_memory_seed42/proposed_detailed.jsonl")
    opened = int(rows.expanded.sum())
    assert 0 < opened < len(rows)
    told = {"gate": "ThresholdGate", "signal": "top1", "direction": "below", "threshold": 0.65}
    assert list(check_rows(rows, "file", 42, told)) == []
    assert list(check_rows(rows, "file", 42, told | {"signal": "margin"})) == []  # not in these rows
    assert list(check_rows(rows, "file", 42, told | {"gate": "LearnedGate"})) == []
    found = list(check_rows(rows, "file", 42, told | {"direction": "above", "threshold": 2.0}))
    assert [one.what for one in found] == ["expanded is true, but the gate is shut"] * opened


def test_a_target_that_the_store_lost_is_told(real, tiny_experiment):
    """The store of the other seed holds other episodes."""
    shutil.rmtree(real / "seed42/memory")
    shutil.copytree(tiny_experiment / "seed43/memory", real / "seed42/memory")
    text = "\n".join(told(real))
    assert "is not in the store" in text
    assert "is not in the index" in text
    assert "which the index lacks" in text


def test_a_changed_cell_of_a_stored_table_is_told(real):
    path = real / "report/multi-seed.csv"
    lines = path.read_text().splitlines()
    cells = lines[1].split(",")
    had, cells[3] = cells[3], "0.123"
    lines[1] = ",".join(cells)
    path.write_text("\n".join(lines) + "\n")
    assert told(real) == [
        f"report/multi-seed.csv:2: recall@5_mean of Dense-Only is '0.123'; the rows give {had!r}"
    ]


def test_an_oracle_that_did_not_foresee_is_found(real):
    """Each row that says otherwise than the hits of the two methods it chooses from."""
    path = real / "seed42/results/oracle_detailed.jsonl"
    rows = rows_of(path)
    for row in rows:
        row["meta"]["expanded"] = row["gated"] = not row["meta"]["expanded"]
    save(path, rows)
    found = [one for one in told(real) if "but expansion" in one]
    assert len(found) == len(rows)
    assert any("expanded is true, but expansion does not help within 5" in one for one in found)


def test_a_changed_page_is_found(real):
    """Its figures and tables, each by its id."""
    experiment = read_experiment(real)
    page = write_page(real / "report" / PAGE, experiment, build_tables(experiment, FAST), settings=FAST)
    assert told(real) == []
    text = page.path.read_text("utf-8")
    parts = page_parts(experiment, build_tables(experiment, FAST), FAST)
    for html in parts.values():
        place = text.index(html) + max(found.start() for found in re.finditer(r"\d", html))
        text = f"{text[:place]}{(int(text[place]) + 1) % 10}{text[place + 1 :]}"
    page.path.write_text(text, "utf-8")
    assert told(real) == [f"report/{PAGE}: {part} differs from what the rows give" for part in parts]
    assert len(parts) == 4 + 15


def test_what_is_missing_is_told(real):
    (real / "seed42/results/hybrid_rrf_detailed.jsonl").unlink()
    (real / "report/main.tex").unlink()
    (real / "seed43/questions.jsonl").write_text("{")
    text = "\n".join(told(real))
    assert "seed42/results/hybrid_rrf_detailed.jsonl: is missing" in text
    assert "seed43/questions.jsonl: was changed" in text
    assert "report/main.tex: is missing" in text


def test_other_settings_of_one_seed_are_told(real):
    path = real / "seed43/results/manifest.json"
    manifest = json.loads(path.read_text())
    manifest["choices"]["methods"]["Selective-QE"]["threshold"] = 0.7
    path.write_text(json.dumps(manifest))
    text = "\n".join(told(real))
    assert "not run as seed 42: methods.Selective-QE.threshold: there it is 0.55, given 0.7" in text


def test_another_generator_of_one_seed_is_a_note(real, capsys):
    """Recorded expansions of one store beside those that a model wrote for others, say."""
    path = real / "seed43/results/manifest.json"
    manifest = json.loads(path.read_text())
    manifest["choices"]["expansions"]["generator"] = "vllm:small"
    path.write_text(json.dumps(manifest))
    report = verify_experiment(real)
    assert report.ok
    (note,) = report.notes
    assert note.startswith("seed 43 was not expanded as seed 42: expansions.generator: there it is")
    assert main(["experiment", "verify", str(real)]) == 0
    assert f"note: {note}" in capsys.readouterr().out


def test_a_seed_left_out_of_the_report_is_told(real):
    write_report(real / "report", read_experiment(real, [42]), FAST)
    assert told(real) == ["report/report.json: the report leaves out seed 43"]
    assert verify_experiment(real, [42]).ok


def test_arguments(real, tmp_path):
    with pytest.raises(InvalidInputError, match="holds nothing of seed 50; it has 42, 43"):
        verify_experiment(real, [50])
    with pytest.raises(InvalidInputError, match="there is no folder"):
        verify_experiment(tmp_path / "none")
    with pytest.raises(InvalidInputError, match="holds no rows"):
        verify_experiment(tmp_path)
    with pytest.raises(InvalidInputError, match="holds no report"):
        verify_experiment(real, report=tmp_path)


def test_the_command_exits_by_what_it_finds(real, capsys, shared_data):
    assert main(["experiment", "verify", str(real)]) == 0
    assert "adds up; 432 rows of seeds 42, 43, 15 stored tables" in capsys.readouterr().out
    path = real / "seed42/results/dense_only_detailed.jsonl"
    rows = rows_of(path)
    random.Random(1).shuffle(rows)
    flip_hit(rows[3])
    save(path, rows)
    assert main(["experiment", "verify", str(real), "--limit", "1"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("problem: seed42/")
    assert "more (--limit 0 shows all)" in out
    assert main(["experiment", "verify", str(real), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert not told["ok"]
    assert any(one["query_id"] == rows[3]["query_id"] for one in told["problems"])
    assert main(["experiment", "verify"]) == 2
    assert main(["experiment", "verify", str(real), "--release", str(real)]) == 2
    assert main(["experiment", "verify", "--release", str(real)]) == 3
    capsys.readouterr()
    assert main(["experiment", "verify", "--release", str(shared_data / "sqe_release")]) == 0
    assert "adds up to 1e-9" in capsys.readouterr().out
