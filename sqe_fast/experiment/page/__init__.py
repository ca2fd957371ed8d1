"""One self-contained HTML page for an experiment: tables, figures, and an explorer of its questions."""

from sqe_fast.experiment.page.sections import GateCurves, Section, curves_section, rollouts_section
from sqe_fast.experiment.page.write import PageReport, write_page

__all__ = ["GateCurves", "PageReport", "Section", "curves_section", "rollouts_section", "write_page"]
