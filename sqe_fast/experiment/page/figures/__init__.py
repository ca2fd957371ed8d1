"""The figures of the experiment as SVG text: pure functions from arrays, one figure a file.

Shares go in from 0 to 1 and are drawn in percent. Each figure is drawn for a given width in pixels: a narrow
one (below 480) is laid out anew rather than scaled down, so that its letters stay readable on a telephone.
"""

from sqe_fast.experiment.page.figures.budget import gate_curves
from sqe_fast.experiment.page.figures.headroom import oracle_headroom
from sqe_fast.experiment.page.figures.recall import recall_by_seed
from sqe_fast.experiment.page.figures.sweep import threshold_sweep
from sqe_fast.experiment.page.figures.tokens import tokens_against_recall

__all__ = ["gate_curves", "oracle_headroom", "recall_by_seed", "threshold_sweep", "tokens_against_recall"]
