"""One self-contained HTML page for an experiment: tables, figures, and an explorer of its questions."""

from sqe_fast.experiment.page.sections import GateCurves, Section, curves_section, rollouts_section
from sqe_fast.experiment.page.write import PAGE, PageReport, page_parts, write_page

__all__ = [
    "PAGE",
    "GateCurves",
    "PageReport",
    "Section",
    "curves_section",
    "page_parts",
    "rollouts_section",
    "write_page",
]
