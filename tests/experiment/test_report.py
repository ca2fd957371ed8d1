"""A report is the same bytes for the same rows, and says which tables are missing."""

import json
import shutil

import pytest
from oracles.rows import made_up, write

from sqe_fast.cli import main
from sqe_fast.errors import InvalidInputError, RecordError
from sqe_fast.experiment.report import read_settings, run_threshold, write_report
from sqe_fast.experiment.rows import read_experiment
from sqe_fast.experiment.tables import TABLES, ReportSettings


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_same_rows_give_the_same_bytes(tiny_experiment, tmp_path):
    for name in ("one", "two"):
        tables = write_report(tmp_path / name, read_experiment(tiny_experiment))
        assert [table.missing for table in tables] == [None] * 15
    first = contents(tmp_path / "one")
    assert first == contents(tmp_path / "two")
    assert sorted(first) == sorted(
        [f"{name}.{kind}" for name in TABLES for kind in ("csv", "tex")] + ["tables.md", "report.json"]
    )


def test_order_of_lines_and_layout_change_nothing(tmp_path):
    """Rows of the release's folders, and each method's rows in another order, give the same tables."""
    content = made_up(n=16)
    ours = write_report(tmp_path / "a", read_experiment(write(tmp_path / "ours", content)))
    for methods in content.values():
        for name in list(methods):
            if name != "Dense-Only":
                methods[name] = methods[name][::-1]
    root = write(tmp_path / "theirs", content, "results_500_memory_seed{}")
    assert write_report(tmp_path / "b", read_experiment(root)) == ours
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_a_table_that_is_missing_leaves_no_stale_file(tmp_path):
    root = write(tmp_path / "exp", made_up(n=8))
    write_report(tmp_path / "report", read_experiment(root))
    assert (tmp_path / "report/leave-one-seed-out.csv").is_file()
    tables = write_report(tmp_path / "report", read_experiment(root, [42]))
    assert [table.name for table in tables if table.missing] == ["leave-one-seed-out"]
    assert not (tmp_path / "report/leave-one-seed-out.csv").exists()
    told = json.loads((tmp_path / "report/report.json").read_bytes())
    assert told["tables"]["leave-one-seed-out"] == "leaving one seed out needs at least two seeds"
    assert told["seeds"] == [42]


def test_settings_are_kept(tmp_path):
    root = write(tmp_path / "exp", made_up(n=8))
    settings = ReportSettings(k=3, resamples=100, seed=7, examples=1)
    write_report(tmp_path / "report", read_experiment(root), settings)
    assert read_settings(tmp_path / "report") == (settings, [42, 43])
    assert read_settings(tmp_path) is None
    (tmp_path / "report/report.json").write_text('{"format": 2}')
    with pytest.raises(RecordError, match="another format"):
        read_settings(tmp_path / "report")
    (tmp_path / "report/report.json").write_text('{"format": 1, "settings": {"k": 0}, "seeds": []}')
    with pytest.raises(RecordError, match="damaged"):
        read_settings(tmp_path / "report")
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInputError, match="cannot make the folder"):
        write_report(tmp_path / "file", read_experiment(root))


def test_the_command_prints_and_writes(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    root = write(tmp_path / "exp", made_up(n=8))
    assert main(["experiment", "report", str(root), "--table", "main", "--resamples", "50"]) == 0
    out = capsys.readouterr().out
    assert "Recall on the first seed, 42" in out
    assert "Threshold sweep" not in out
    assert "15 of 15 tables from 128 rows of 2 seeds" in out
    assert (root / "report/main.csv").is_file()
    page = (root / "report/index.html").read_bytes()
    assert b"Recall on the first seed, 42" in page
    assert (
        main(["experiment", "report", str(root), "--quiet", "--output", str(tmp_path / "out"), "--no-page"])
        == 0
    )
    assert "Recall" not in capsys.readouterr().out
    assert (tmp_path / "out/tables.md").is_file()
    assert not (tmp_path / "out/index.html").exists()
    assert main(["experiment", "report", str(root), "--table", "mian"]) == 2
    assert "--table must be one of main, multi-seed" in capsys.readouterr().err
    assert main(["experiment", "report", str(tmp_path / "nothing")]) == 2


def test_the_threshold_of_the_runs_is_judged(tiny_experiment, tmp_path):
    """It is the one that all seeds were run with; what has no manifest, or several, has none."""
    told = [
        json.loads(path.read_text()) for path in sorted(tiny_experiment.glob("seed*/results/manifest.json"))
    ]
    (wanted,) = {one["choices"]["methods"]["Selective-QE"]["threshold"] for one in told}
    assert run_threshold(read_experiment(tiny_experiment)) == wanted
    assert (
        main(["experiment", "report", str(tiny_experiment), "--output", str(tmp_path / "r"), "--quiet"]) == 0
    )
    assert read_settings(tmp_path / "r")[0].threshold == wanted
    assert run_threshold(read_experiment(write(tmp_path / "rows", made_up(n=8)))) is None
    copy = tmp_path / "copy"
    shutil.copytree(tiny_experiment, copy)
    path = sorted(copy.glob("seed*/results/manifest.json"))[0]
    path.write_text(path.read_text().replace(f'"threshold": {wanted}', f'"threshold": {wanted + 0.125}'))
    assert run_threshold(read_experiment(copy)) is None
