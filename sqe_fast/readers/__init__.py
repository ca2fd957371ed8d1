"""Readers for what agents leave behind: files, folders and hub data sets become episodes, streamed.

The container (JSON Lines, one JSON document, Parquet, a data set on the hub) and the form of its records
(own, BEIR, SWE-agent, mini-swe-agent, SWE-smith) are recognised from the content; any container may hold any
form.
"""

from __future__ import annotations

from sqe_fast.readers.read import Reading, read

__all__ = ["Reading", "read"]
