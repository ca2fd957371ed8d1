"""The published experiment, end to end: data, runs, rows, tables, the page and the checks of all of it."""
