"""The page put together: one HTML file that asks nothing of any host."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from os import PathLike
from pathlib import Path

from sqe_fast._store.files import replace_file
from sqe_fast.errors import InvalidInputError
from sqe_fast.experiment.page.charts import Chart, charts
from sqe_fast.experiment.page.data import MIB, Part, choose_parts
from sqe_fast.experiment.page.html import attribute, text
from sqe_fast.experiment.page.sections import GateCurves, Section, curves_section
from sqe_fast.experiment.page.tables import table_html, table_id
from sqe_fast.experiment.page.texts import Texts
from sqe_fast.experiment.rows import Experiment
from sqe_fast.experiment.table import Table
from sqe_fast.experiment.tables import ReportSettings

__all__ = ["PAGE", "PageReport", "page_parts", "write_page"]

PAGE = "index.html"  # in the folder of a report

SCRIPTS = ("elements.js", "data.js", "detail.js", "list.js", "start.js")


@dataclass(frozen=True)
class PageReport:
    """What `write_page` wrote.

    Attributes
    ----------
    path : Path
    size : int
        Bytes of the file.
    seeds, questions, tables, figures : int
        How many are on the page; figures of further sections included.
    left_out : tuple of str
        What is not, each with its reason; the page says the same.
    """

    path: Path
    size: int
    seeds: int
    questions: int
    tables: int
    figures: int
    left_out: tuple[str, ...]


def write_page(
    path: str | PathLike[str],
    experiment: Experiment | None,
    tables: Sequence[Table],
    *,
    probes: bool = True,
    curves: GateCurves | Sequence[GateCurves] | None = None,
    sections: Sequence[Section] = (),
    texts: Texts | None = None,
    title: str = "Selective query expansion: recall and cost",
    lead: str | None = None,
    settings: ReportSettings | None = None,
    limit: int = 48 * MIB,
) -> PageReport:
    """Write the page of an experiment: figures, tables, and an explorer of its questions.

    The file is complete in itself and makes no request; the same arguments give the same bytes.

    Parameters
    ----------
    path : str or path
        The file; replaced whole if it is there.
    experiment : Experiment or None
        None: the page has no figures of an experiment and no explorer, only tables and sections.
    tables : sequence of Table
        In the order of the page.
    probes : bool
        Whether texts and lists of the probes are put in, where a seed has kept them.
    curves : GateCurves or sequence of them, optional
        Drawn in a section of gate curves.
    sections : sequence of Section
        Further ones, at the end of the page; see `rollouts_section`.
    texts : callable, optional
        ``texts(seed, ids)`` gives a mapping of ids to texts, for those that are known; targets are shown
        whole, of other documents the beginning. By default they come from the stores beside the rows, where
        there are any.
    title, lead : str
        Plain text; the lead stands below the title, and says what the experiment is where it is not given.
    settings : ReportSettings, optional
        Those of the tables: `k` is the depth of recall in the figures, `threshold` is marked in the sweep.
    limit : int
        Bytes of data for the explorer. Parts that would go beyond it (`data.PARTS`) are left out, in all
        seeds; the answers of the methods are always there.

    Returns
    -------
    PageReport

    Raises
    ------
    InvalidInputError
        The experiment has no seed, there is none and no lead either, or two sections have one id.
    OSError
        The file cannot be written.
    """
    settings = ReportSettings() if settings is None else settings
    drawn: Sequence[Chart] = ()
    parts: Sequence[Part] = ()
    left_out: Sequence[str] = ()
    page = [*([curves_section(curves)] if curves is not None else []), _tables(tables)]
    if experiment is not None:
        if not experiment.seeds:
            raise InvalidInputError("experiment must have at least one seed; it has none")
        drawn = charts(experiment, settings)
        parts, left_out = choose_parts(experiment, probes=probes, texts=texts, limit=limit)
        page = [_figures(drawn), *page, _questions(left_out)]
        lead = _lead(experiment) if lead is None else lead
    elif lead is None:
        raise InvalidInputError("lead must say what the page is of where there is no experiment")
    page += sections
    _check_ids(page)
    links = {
        "figures": [(chart.id, chart.title) for chart in drawn],
        "tables": [(table_id(table), table.title) for table in tables],
    }
    script = '"use strict";\n(() => {\n' + "\n".join(_asset(name) for name in SCRIPTS) + "})();\n"
    style = _asset("page.css")
    html = _fill(
        _asset("page.html"),
        {
            "policy": _policy(style, script),
            "title": text(title),
            "style": style,
            "script": script,
            "lead": text(lead),
            "contents": "\n".join(_link(section, links.get(section.id, [])) for section in page),
            "main": "\n".join(_section(section) for section in page),
            "data": "\n".join(_block(part) for part in parts),
        },
    )
    data = html.encode("utf-8")
    path = Path(path)
    replace_file(path, data)
    missing = [f"{chart.title}: {chart.note}" for chart in drawn if chart.draw is None]
    missing += [f"{table.title}: {table.missing}" for table in tables if table.missing is not None]
    return PageReport(
        path=path,
        size=len(data),
        seeds=len(experiment.seeds) if experiment else 0,
        questions=sum(len(seed) for seed in experiment.seeds) if experiment else 0,
        tables=sum(table.missing is None for table in tables),
        figures=sum(section.html.count("<figure ") for section in page),
        left_out=(*left_out, *missing),
    )


def page_parts(
    experiment: Experiment, tables: Sequence[Table], settings: ReportSettings | None = None
) -> dict[str, str]:
    """Return the HTML of each figure and table as it stands on the page of an experiment, by its id."""
    drawn = charts(experiment, ReportSettings() if settings is None else settings)
    return {chart.id: chart.html(i) for i, chart in enumerate(drawn, 1)} | _numbered(tables)


def _figures(drawn: Sequence[Chart]) -> Section:
    return Section("figures", "Figures", "\n".join(chart.html(i) for i, chart in enumerate(drawn, 1)))


def _tables(tables: Sequence[Table]) -> Section:
    return Section("tables", "Tables", "\n".join(_numbered(tables).values()))


def _numbered(tables: Sequence[Table]) -> dict[str, str]:
    """Return the HTML of each table by its id, numbered where it is there."""
    parts, number = {}, 0
    for table in tables:
        number += table.missing is None
        parts[table_id(table)] = table_html(table, number if table.missing is None else None)
    return parts


def _questions(left_out: Sequence[str]) -> Section:
    told = (
        "<p>Every question with what the gate saw, the lists of its probes, the answer of each method, and "
        "the rank of its target in each. <b>Helped</b> and <b>hurt</b> compare the chosen method with "
        "Dense-Only: found within the cut-off by one and not by the other. Ranks read “Dense-Only → chosen "
        "method”, a dash where the target was not returned. Arrow keys walk through the list.</p>"
    )
    if left_out:
        told += f'<p class="note">Left out of this page: {text("; ".join(left_out))}.</p>'
    return Section("questions", "Questions", f"{told}\n{_asset('explorer.html')}")


def _check_ids(sections: Sequence[Section]) -> None:
    seen: set[str] = set()
    for section in sections:
        if section.id in seen:
            raise InvalidInputError(f"sections must have different ids; {section.id!r} is there twice")
        seen.add(section.id)


def _asset(name: str) -> str:
    return (files("sqe_fast.experiment.page") / "assets" / name).read_text(encoding="utf-8")


def _fill(template: str, values: Mapping[str, str]) -> str:
    """Put each value in its place; what is put in is not looked at again."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], template)


def _policy(style: str, script: str) -> str:
    """Return a content security policy: this style and this script run, and nothing is fetched."""
    hashes = [base64.b64encode(hashlib.sha256(part.encode()).digest()).decode() for part in (style, script)]
    return (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _lead(experiment: Experiment) -> str:
    seeds = [seed.seed for seed in experiment.seeds]
    count = sum(len(seed) for seed in experiment.seeds)
    methods = dict.fromkeys(name for seed in experiment.seeds for name in seed.methods)
    which = f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} seeds ({', '.join(map(str, seeds))})"
    many = f"{len(methods)} methods" if len(methods) > 1 else "one method"
    return f"{count:,} questions over {which}, {many}: {', '.join(methods)}."


def _link(section: Section, links: Sequence[tuple[str, str]]) -> str:
    inner = "".join(f'<li><a href="#{attribute(id)}">{text(title)}</a></li>' for id, title in links)
    below = f"<ul>{inner}</ul>" if inner else ""
    return f'<li><a href="#{section.id}"><b>{text(section.title)}</b></a>{below}</li>'


def _section(section: Section) -> str:
    broad = ' class="broad"' if section.id == "questions" else ""
    return (
        f'<section id="{section.id}"{broad} aria-labelledby="{section.id}-title">\n'
        f'<h2 id="{section.id}-title">{text(section.title)}</h2>\n{section.html}\n</section>'
    )


def _block(part: Part) -> str:
    return (
        f'<script type="application/json" id="data-{part.seed}-{part.name}" data-seed="{part.seed}" '
        f'data-part="{part.name}">{part.json}</script>'
    )
