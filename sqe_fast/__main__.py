"""`python -m sqe_fast` is the command line."""

from __future__ import annotations

import sys

from sqe_fast.cli import main

sys.exit(main())
