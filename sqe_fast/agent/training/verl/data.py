"""Questions as verl reads them: a Parquet file of one row a question."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqe_fast._extras import require
from sqe_fast.agent.presets import Preset, get_preset
from sqe_fast.agent.qa.sets import Question
from sqe_fast.errors import InvalidInputError

__all__ = ["NAME", "verl_rows", "write_parquet"]

NAME = "sqe_fast_search"  # under which the agent loop is registered


def verl_rows(
    questions: Sequence[Question], preset: Preset | str, split: str = "train"
) -> list[dict[str, Any]]:
    """Return a row for each question, in the columns of verl's RLHFDataset.

    `prompt` is what the preset asks, for verl's limit on its length; the agent loop asks the same from
    `extra_info.question`. `reward_model.ground_truth` holds the golden answers.
    """
    preset = get_preset(preset)
    return [
        {
            "data_source": one.set,
            "agent_name": NAME,
            "prompt": [{"role": "user", "content": preset.ask(one.question)}],
            "ability": "search",
            "reward_model": {"style": "rule", "ground_truth": {"target": list(one.golden_answers)}},
            "extra_info": {
                "split": split,
                "index": index,
                "id": one.id,
                "question": one.question,
                "need_tools_kwargs": True,
                "tools_kwargs": {
                    "search": {
                        "create_kwargs": {
                            "question": one.question,
                            "golden_answers": list(one.golden_answers),
                        }
                    }
                },
            },
        }
        for index, one in enumerate(questions)
    ]


def write_parquet(
    path: str | os.PathLike[str], questions: Sequence[Question], preset: Preset | str, split: str = "train"
) -> Path:
    """Write `verl_rows` to a Parquet file, which appears whole or not at all.

    Raises
    ------
    MissingExtraError
        pyarrow is not installed: ``pip install 'sqe_fast[parquet]'``.
    """
    if not questions:
        raise InvalidInputError("questions must hold at least one question")
    arrow = require("pyarrow", "parquet", "data for verl")
    require("pyarrow.parquet", "parquet", "data for verl")
    target = Path(path)
    fresh = target.with_name(f".{target.name}.new")
    table = arrow.Table.from_pylist(verl_rows(questions, preset, split))
    arrow.parquet.write_table(table, str(fresh))
    fresh.replace(target)
    return target
