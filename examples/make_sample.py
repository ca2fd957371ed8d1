"""Make the sample memory: run the steps under `tasks/` for real and record what came back.

Each file of `tasks/` is one task of an agent: steps with a thought and a `bash` or `python` command. Every
task gets a fresh copy of this repository, which its commands call /repo, and an empty folder, /scratch. Both
lie in a temporary folder; that and the other names of this machine are replaced in the outputs. See README.md
here for what may differ from one run to the next.

    python examples/make_sample.py
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from sqe_fast import _core
from sqe_fast.episode import Step

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
COPIED = ("csrc", "sqe_fast", "tests", "pyproject.toml", "setup.py", "CMakeLists.txt", "LICENSE")
TOOLS = ("bash", "python")
LIMIT = 120  # seconds a command may take

OURS = re.compile(r"(?<![\w./])/(?=(?:repo|scratch)\b)")  # the root of a path as task files write it
UNSTABLE = (
    (re.compile(r"\bin \d+\.\d+s\b"), "in <time>"),  # pytest
    (re.compile(r"\b0x[0-9a-f]{12}\b"), "0x<address>"),
)


@dataclass(frozen=True, slots=True)
class Task:
    """A task file: its name without the number, and its steps as written."""

    name: str
    steps: tuple[dict[str, object], ...]


@dataclass(frozen=True, slots=True)
class Recorded:
    """A step that ran: its id, what it became, and whether it ended as the task file says."""

    id: str
    task: str
    step: Step
    as_told: bool


def main() -> int:
    """Run all tasks, write the episodes and say what was done."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=HERE / "sample" / "episodes.jsonl")
    parser.add_argument("--only", help="run only the task of this name, and print its episodes")
    options = parser.parse_args()
    started = time.monotonic()
    tasks = [task for task in read_tasks(HERE / "tasks") if options.only in (None, task.name)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # the work is done by the commands' processes
        recorded = [one for steps in pool.map(run_task, tasks) for one in steps]
    kept = [one for one in recorded if one.step.worth_keeping()]
    for one in recorded:
        if not one.as_told:
            print(f"{one.id} did not end as its task file says:\n{one.step.observation}", file=sys.stderr)
    if options.only:
        print("\n\n".join(f"{one.id}\n{one.step.text()}" for one in kept))
    else:
        write(options.out, kept)
    seconds = time.monotonic() - started
    print(f"{len(tasks)} tasks, {len(recorded)} steps, {len(kept)} episodes, {seconds:.0f} s")
    return 0 if recorded and all(one.as_told for one in recorded) else 1


def read_tasks(folder: Path) -> list[Task]:
    """Return the tasks of a folder in the order of their numbers."""
    tasks = []
    for file in sorted(folder.glob("*.toml")):
        steps = tomllib.loads(file.read_text(encoding="utf-8"))["step"]
        for number, step in enumerate(steps, 1):
            if sum(tool in step for tool in TOOLS) != 1 or set(step) - {*TOOLS, "thought", "fails"}:
                raise SystemExit(f"{file}: step {number} needs a thought and one of {', '.join(TOOLS)}")
        tasks.append(Task(file.stem.partition("-")[2], tuple(steps)))
    return tasks


def run_task(task: Task) -> list[Recorded]:
    """Run the steps of a task one after the other in a room of their own."""
    with tempfile.TemporaryDirectory(prefix="sample-") as folder:
        room = Path(folder).resolve()
        furnish(room)
        return [run_step(task.name, number, step, room) for number, step in enumerate(task.steps, 1)]


def furnish(room: Path) -> None:
    """Put a copy of the repository, with its native module, and an empty scratch folder into `room`."""
    repo = room / "repo"
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, repo / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        else:
            shutil.copy(ROOT / name, repo / name)
    shutil.copy(str(_core.__file__), repo / "sqe_fast")
    (room / "scratch").mkdir()
    (room / "tmp").mkdir()


def run_step(task: str, number: int, written: dict[str, object], room: Path) -> Recorded:
    """Run one step, from /repo, and return it with its true output."""
    tool = next(tool for tool in TOOLS if tool in written)
    command = str(written[tool]).strip("\n")
    program = [sys.executable, "-c"] if tool == "python" else ["bash", "-c"]
    done = subprocess.run(
        [*program, OURS.sub(f"{room}/", command)],
        cwd=room / "repo",
        env=surroundings(room),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=LIMIT,
        check=False,
    )
    observation = neutral(done.stdout.decode(errors="replace"), room).strip("\n")
    if done.returncode:
        observation = f"{observation}\n(exit code {done.returncode})".strip("\n")
    step = Step(str(written["thought"]), tool, command, observation)
    as_told = bool(done.returncode) == bool(written.get("fails", False))
    return Recorded(f"{task}/{number:02d}", task, step, as_told)


def surroundings(room: Path) -> dict[str, str]:
    """Return an environment that does not depend on the user, the clock of git or the hash seed."""
    git = {f"GIT_{who}_{key}": value for who in ("AUTHOR", "COMMITTER") for key, value in GIT.items()}
    return {
        "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}",
        "PYTHONPATH": f"{room}/repo",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "PYTHONHASHSEED": "0",
        "PYTEST_ADDOPTS": "-p no:cacheprovider",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INDEX": "1",
        "SQE_FAST_DATA": f"{room}/no-data",
        "HOME": f"{room}/home",
        "TMPDIR": f"{room}/tmp",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "COLUMNS": "100",
        "TERM": "dumb",
        **git,
    }


GIT = {"NAME": "agent", "EMAIL": "agent@localhost", "DATE": "2026-01-05T09:00:00Z"}


def neutral(output: str, room: Path) -> str:
    """Return an output without this machine's paths, addresses and timings."""
    names = {
        str(room): "",
        sysconfig.get_path("purelib"): "/env/site-packages",
        sysconfig.get_path("stdlib"): "/python/lib",
        sys.prefix: "/env",
        str(Path.home()): "/user",
    }
    for name in sorted(names, key=len, reverse=True):
        output = re.sub(rf"{re.escape(name)}(?![\w.-])", names[name], output)
    for pattern, stands_for in UNSTABLE:
        output = pattern.sub(stands_for, output)
    return output


def write(path: Path, episodes: list[Recorded]) -> None:
    """Write the episodes as JSON Lines, all or nothing."""
    lines = (
        json.dumps({"id": one.id, "text": one.step.text(), "task_id": one.task}, ensure_ascii=False)
        for one in episodes
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    unfinished.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    unfinished.replace(path)


if __name__ == "__main__":
    sys.exit(main())
