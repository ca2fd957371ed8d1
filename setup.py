"""Build `sqe_fast._core` with CMake; everything else is declared in pyproject.toml."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parent.resolve()


class CMakeExtension(Extension):
    """An extension whose sources are known to CMakeLists.txt alone."""

    def __init__(self, name: str) -> None:
        super().__init__(name, sources=[])


class CMakeBuild(build_ext):
    """Run CMake and put the module where setuptools expects it (editable and wheel alike)."""

    def build_folder(self) -> Path:
        """Return where objects are kept: in the checkout for an editable build, so the next one is short."""
        if self.editable_mode:
            return ROOT / "build" / f"temp.{self.plat_name}-{sys.implementation.cache_tag}"
        return Path(self.build_temp).resolve()

    def build_extension(self, ext: Extension) -> None:
        import pybind11

        target = Path(self.get_ext_fullpath(ext.name)).resolve()
        build_dir = self.build_folder() / "cmake"
        build_dir.mkdir(parents=True, exist_ok=True)
        jobs = str(self.parallel or os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or os.cpu_count() or 1)
        configure = [
            "cmake",
            str(ROOT),
            f"-DPython_EXECUTABLE={sys.executable}",
            f"-Dpybind11_DIR={pybind11.get_cmake_dir()}",
            f"-DCMAKE_LIBRARY_OUTPUT_DIRECTORY={target.parent}",
            "-DCMAKE_BUILD_TYPE=Release",
            *os.environ.get("CMAKE_ARGS", "").split(),
        ]
        if "CMAKE_GENERATOR" not in os.environ:
            # Said each time: an isolated build's ninja is gone when the next build reads the cache.
            configure += ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={shutil.which('ninja')}"]
        # A build folder left by another generator or source tree cannot be reused.
        cache = build_dir / "CMakeCache.txt"
        if cache.exists() and f"CMAKE_HOME_DIRECTORY:INTERNAL={ROOT}" not in cache.read_text():
            cache.unlink()
        subprocess.run(configure, cwd=build_dir, check=True)
        subprocess.run(["cmake", "--build", ".", "--target", "_core", "-j", jobs], cwd=build_dir, check=True)


setup(ext_modules=[CMakeExtension("sqe_fast._core")], cmdclass={"build_ext": CMakeBuild})
