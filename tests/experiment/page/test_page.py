"""The page as a file: complete in itself, repeatable, and honest about what it leaves out."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from page_examples import some_curves, some_rollouts, some_tables, write_example
from page_experiment import LISTS, make_experiment, texts_of

from sqe_fast.errors import InvalidInputError
from sqe_fast.experiment.page import Section, curves_section, rollouts_section, write_page
from sqe_fast.experiment.page.data import PARTS, SNIPPET, seed_parts
from sqe_fast.experiment.page.html import attribute, json_block, slug, text
from sqe_fast.experiment.page.tables import table_html
from sqe_fast.experiment.page.texts import store_texts
from sqe_fast.experiment.rows import Experiment, read_experiment, read_probes
from sqe_fast.experiment.table import Column, Table
from sqe_fast.experiment.tables import build_tables

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))


class Page(HTMLParser):
    """What is where in a page: ids, links, elements, and the texts of scripts and styles."""

    def __init__(self, html):
        super().__init__()
        self.ids, self.links, self.tags, self.inside = [], [], [], {}
        self._open = None
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.append((tag, given))
        if "id" in given:
            self.ids.append(given["id"])
        for name in ("href", "src"):
            if name in given:
                self.links.append(given[name])
        self._open = given.get("id", tag) if tag in ("script", "style") else None

    def handle_endtag(self, tag):
        self._open = None

    def handle_data(self, data):
        if self._open is not None:
            self.inside[self._open] = self.inside.get(self._open, "") + data


@pytest.fixture(scope="module")
def parsed(example_page):
    return Page(example_page.html)


def blocks(html):
    """Return the parts of the explorer's data by (seed, name)."""
    found = Page(html).inside
    names = [name.split("-") for name in found if name.startswith("data-")]
    return {(int(seed), part): json.loads(found[f"data-{seed}-{part}"]) for _, seed, part in names}


def test_the_page_refers_to_nothing_outside(example_page, parsed):
    assert {link for link in parsed.links if not link.startswith("#")} == {"data:,"}
    assert {link[1:] for link in parsed.links if link.startswith("#")} <= set(parsed.ids)
    style = parsed.inside["style"]
    assert "url(" not in style
    assert "@import" not in style
    assert not re.search(
        r"fetch\(|XMLHttpRequest|import\(|innerHTML|eval\(|document\.write", parsed.inside["script"]
    )


def test_ids_are_unique_and_nothing_carries_a_style_or_handler_of_its_own(parsed):
    assert len(set(parsed.ids)) == len(parsed.ids)
    for tag, named in parsed.tags:
        assert not {name for name in named if name == "style" or name.startswith("on")}, tag


def test_the_policy_allows_exactly_this_style_and_script(parsed):
    (policy,) = [a["content"] for tag, a in parsed.tags if a.get("http-equiv") == "Content-Security-Policy"]
    told = dict(part.split(" ", 1) for part in policy.split("; "))
    for name, kind in (("style-src", "style"), ("script-src", "script")):
        digest = base64.b64encode(hashlib.sha256(parsed.inside[kind].encode()).digest()).decode()
        assert told[name] == f"'sha256-{digest}'"
    assert told["default-src"] == "'none'"
    assert "connect-src" not in told  # falls back to none


def test_headings_go_down_one_level_at_a_time(parsed):
    levels = [int(tag[1]) for tag, _ in parsed.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))


def test_every_figure_has_a_caption_and_every_table_a_name(example_page, parsed):
    tags = [tag for tag, _ in parsed.tags]
    assert tags.count("figure") == tags.count("figcaption") == example_page.report.figures == 5
    assert tags.count("svg") == 2 * tags.count("figure")
    assert tags.count("table") == tags.count("caption") == example_page.report.tables == 2
    assert "Not computed: the rows hold no lists of scores" in example_page.html


def test_equal_input_gives_equal_bytes(drawn_experiment, example_page, tmp_path):
    write_example(tmp_path / "again.html", drawn_experiment)
    assert (tmp_path / "again.html").read_bytes() == example_page.path.read_bytes()
    assert str(drawn_experiment.root) not in example_page.html
    assert [path.name for path in tmp_path.iterdir()] == ["again.html"]


def test_the_report_tells_what_was_written(drawn_experiment, example_page):
    report = example_page.report
    assert report.path == example_page.path
    assert report.size == example_page.path.stat().st_size
    assert (report.seeds, report.questions) == (3, 180)
    assert report.left_out == ("Gate features: the rows hold no lists of scores",)


def test_the_data_is_that_of_the_rows(drawn_experiment, example_page):
    found = blocks(example_page.html)
    assert set(found) == {(seed.seed, part) for seed in drawn_experiment.seeds for part in PARTS}
    for seed in drawn_experiment.seeds:
        rows, lists = found[seed.seed, "rows"], found[seed.seed, "lists"]
        ids = rows["ids"]
        assert [tuple(pair) for pair in rows["queries"]] == list(
            zip(seed.query_ids, seed.queries, strict=True)
        )
        assert [ids[place] for place in rows["targets"]] == list(seed.targets)
        for told, (name, method) in zip(rows["methods"], seed.methods.items(), strict=True):
            assert told["name"] == name
            assert [tuple(ids[place] for place in one) for one in told["ids"]] == list(method.retrieved)
            took = [told["combinations"][place] for place in told["took"]]
            assert took == [row["lists"] for row in method.raw]
            assert told["ranks"] == method.rank.tolist()
            assert told["expanded"] == method.expanded.astype(int).tolist()
            assert told["tokens"] == (method.prompt_tokens + method.completion_tokens).tolist()
        assert rows["signals"]["top1"] == pytest.approx(seed.methods["Dense-Only"].top1, abs=5e-5)
        assert lists["names"] == list(LISTS)
        for i, probe in enumerate(read_probes(seed.folder)):
            assert found[seed.seed, "probes"][i] == [probe["traces"], probe["paraphrases"], None]
            for place, part in enumerate(probe["lists"]):
                assert [ids[at] for at in lists["ids"][i][place]] == part["ids"]
                assert lists["ranks"][i][place] == (part["target_rank"] or 0)
                assert found[seed.seed, "scores"][i][place] == pytest.approx(part["scores"], abs=5e-5)
        texts = texts_of(seed.seed, ids)
        targets = found[seed.seed, "targets"]
        assert {ids[int(place)]: told for place, told in targets.items()} == {
            name: texts[name] for name in seed.targets
        }
        others = found[seed.seed, "documents"]
        assert {ids[int(place)] for place in others} == set(ids) - set(seed.targets)
        assert all(texts[ids[int(place)]].startswith(told[:-1]) for place, told in others.items())
        assert max(map(len, others.values())) <= SNIPPET + 1


def test_what_does_not_fit_is_left_out_in_all_seeds_and_said(drawn_experiment, tmp_path):
    whole = [seed_parts(seed, read_probes(seed.folder), texts_of) for seed in drawn_experiment.seeds]
    sizes = {name: sum(parts[name].size for parts in whole) for name in PARTS}
    limit = sizes["rows"] + sizes["probes"] + sizes["targets"]
    report = write_example(tmp_path / "small.html", drawn_experiment, limit=limit)
    html = (tmp_path / "small.html").read_text(encoding="utf-8")
    assert {part for _, part in blocks(html)} == {"rows", "probes", "targets"}
    assert [told.split(" (")[0] for told in report.left_out[:3]] == [
        PARTS[name] for name in ("lists", "scores", "documents")
    ]
    assert all(text(told) in html for told in report.left_out[:3])
    write_example(tmp_path / "least.html", drawn_experiment, limit=0)
    least = (tmp_path / "least.html").read_text(encoding="utf-8")
    assert {part for _, part in blocks(least)} == {"rows"}


def test_probes_may_be_left_out(drawn_experiment, tmp_path):
    report = write_page(tmp_path / "page.html", drawn_experiment, [], probes=False)
    found = blocks((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert {part for _, part in found} == {"rows"}
    assert report.left_out == (
        "probes (are not wanted)",
        "texts of the documents (the seeds have no store beside their rows)",
    )
    assert (report.tables, report.figures) == (0, 4)


def test_rows_of_the_release_make_a_page(drawn_experiment, tmp_path):
    """Without scores, signals, lists or probes, and without some methods."""
    folder = tmp_path / "results_500_memory_seed42"
    folder.mkdir()
    kept = ("query_id", "query", "target_id", "retrieved_ids", "hit@1", "hit@10", "meta")
    seed = drawn_experiment.seeds[0]
    for name in ("Dense-Only", "Selective-QE"):
        method = seed.methods[name]
        lines = [json.dumps({key: row[key] for key in kept}) for row in method.raw]
        (folder / method.path.name).write_text("\n".join(lines) + "\n")
    experiment = read_experiment(tmp_path)
    report = write_page(tmp_path / "page.html", experiment, build_tables(experiment))
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    found = blocks(html)
    assert set(found) == {(42, "rows")}
    assert found[42, "rows"]["signals"]["top1"] == pytest.approx(seed.methods["Dense-Only"].top1, abs=5e-5)
    told = "; ".join(report.left_out)
    assert "probes (the seeds kept none)" in told
    assert "Headroom of an oracle gate: seed 42 has no rows of Always-Expand" in told
    assert "Not drawn: seed 42 has no rows of Always-Expand." in html
    assert report.figures == 2


def test_texts_come_from_the_stores_of_a_run(tiny_experiment, tmp_path):
    experiment = read_experiment(tiny_experiment)
    texts = store_texts(experiment)
    seed = experiment.seeds[0]
    found = texts(seed.seed, [seed.targets[0], "no such episode"])
    assert list(found) == [seed.targets[0]]
    report = write_page(tmp_path / "page.html", experiment, build_tables(experiment))
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    targets = blocks(html)[seed.seed, "targets"]
    assert found[seed.targets[0]] in targets.values()
    assert report.seeds == 2
    assert not [told for told in report.left_out if told.startswith("texts")]


def test_the_example_of_the_readme_runs(tiny_experiment, tmp_path, monkeypatch):
    readme = (Path(__file__).resolve().parents[3] / "README.md").read_text(encoding="utf-8")
    example = re.search(
        r"^## The page of an experiment\n+```python\n(.*?)^```", readme, re.MULTILINE | re.DOTALL
    )
    monkeypatch.chdir(tmp_path)
    Path("experiment").symlink_to(tiny_experiment)
    names = {}
    exec(example[1], names)
    assert Path("page.html").stat().st_size == names["report"].size


def test_bad_input_is_refused(drawn_experiment, tmp_path):
    path = tmp_path / "page.html"
    with pytest.raises(InvalidInputError, match="at least one seed"):
        write_page(path, Experiment(tmp_path, ()), [])
    with pytest.raises(InvalidInputError, match="'tables' is there twice"):
        write_page(path, drawn_experiment, [], sections=[Section("tables", "More", "")])
    with pytest.raises(InvalidInputError, match="limit"):
        write_page(path, drawn_experiment, [], limit=-1)
    with pytest.raises(InvalidInputError, match="id must be like 'my-part'"):
        Section("My part", "More", "")
    with pytest.raises(InvalidInputError, match="role must be one of prompt, policy, observation"):
        rollouts_section([{"segments": [{"role": "user", "text": ""}]}])
    with pytest.raises(InvalidInputError, match="segments"):
        rollouts_section([{"id": "q1"}])
    with pytest.raises(InvalidInputError, match="at least one GateCurves"):
        curves_section([])
    assert list(tmp_path.iterdir()) == []


def test_rollouts_beyond_the_limit_are_counted():
    html = rollouts_section(some_rollouts(12), limit=5).html
    assert html.count("<details") == 5
    assert "The first 5 of 12 rollouts are shown." in html
    assert "<script" not in html


def test_curves_may_be_several():
    section = curves_section([some_curves(), some_curves()], id="more-curves", title="More")
    assert Page(section.html).ids.count("more-curves-2") == 1
    assert section.html.count("<svg") == 4


def test_a_table_shows_what_the_other_formats_show():
    html = table_html(some_tables()[0], 3)
    cells = re.findall(r"<td[^>]*>(.*?)</td>", html)[:9]
    assert cells == [
        "45.0",
        "68.0",
        '<span class="hidden">none</span>',
        "0.500",
        "1.50",
        "+0.9",
        "[-0.4, +1.7]",
        "&lt;0.001",
        "4,000",
    ]
    assert '<th scope="row">Dense-Only</th>' in html
    assert "&lt;/script&gt;&lt;img src=x" in html
    assert "<i>" not in html
    assert "Table 3." in html
    long = table_html(Table("a", "A", (Column("q", "Q"),), (("word " * 20,),)))
    assert 'class="long"' in long


@given(ANY_TEXT)
def test_json_of_any_text_comes_back_and_cannot_end_its_element(value):
    block = json_block([value, {value: None}])
    assert "<" not in block
    assert json.loads(block.encode("utf-8")) == [value, {value: None}]


@given(ANY_TEXT)
def test_text_never_becomes_markup(value):
    parsed = Page(f'<p title="{attribute(value)}">{text(value)}</p>')
    assert [tag for tag, _ in parsed.tags] == ["p"]
    text(value).encode("utf-8")
    attribute(value).encode("utf-8")
    assert re.fullmatch("[a-z0-9-]+", slug(value))


def test_the_assets_are_in_the_package():
    names = {path.name for path in (files("sqe_fast.experiment.page") / "assets").iterdir()}
    assert {"page.html", "page.css", "explorer.html", "list.js"} <= names


@pytest.mark.slow
def test_eight_seeds_of_five_hundred_questions_stay_usable(look, tmp_path):
    experiment = make_experiment(tmp_path, range(42, 50), 500)
    path = tmp_path / "page.html"
    report = write_page(path, experiment, build_tables(experiment))
    assert report.size < 24 * 2**20
    assert not [told for told in report.left_out if not told.startswith("texts of the documents")]
    chrome = look(path)
    chrome.execute_script("document.getElementById('x-seed').value = ''")
    chrome.execute_script("document.getElementById('x-seed').dispatchEvent(new Event('change'))")
    told = chrome.execute_script("return document.getElementById('x-n-hit').textContent")
    hits = np.sum([seed.methods["Selective-QE"].hit(5).sum() for seed in experiment.seeds])
    assert told == f"{hits:,}"
    assert [entry for entry in chrome.get_log("browser") if entry["level"] in ("WARNING", "SEVERE")] == []
