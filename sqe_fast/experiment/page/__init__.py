"""One self-contained HTML page for an experiment: tables, figures, and an explorer of its questions."""
