"""Checks of the published SQE release: what it declares, recomputed from what else it declares.

`verify_release` is the way in. `document` reads JSON so that every number knows where it stands; `audit`
counts checks and names what is wrong; the other modules say what must agree, one part of the release each.
"""

from __future__ import annotations

from sqe_fast.experiment.release.audit import Problem, ReleaseReport, Suspect
from sqe_fast.experiment.release.verify import read_release, verify_documents, verify_release

__all__ = ["Problem", "ReleaseReport", "Suspect", "read_release", "verify_documents", "verify_release"]
