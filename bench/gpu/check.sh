#!/usr/bin/env bash
# Prove and time the GPU paths on a machine with a GPU: under eight minutes, nothing from a network.
#
#   bench/gpu/check.sh [FOLDER]      the report also goes to FOLDER/report.txt (default: $OUT, else build/gpu)
#
# Takes the Python that PYTHON names (default python3) with what it has installed; each part that lacks a package
# or a device is skipped with the reason. The native module is built in place where it is missing.
set -uo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
folder=${1:-${OUT:-build/gpu}}
mkdir -p "$folder"
export HF_HUB_OFFLINE=1 PYTHONPATH=$PWD

{
  date
  nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv 2>&1 || echo "SKIP nvidia-smi: not here"
  "$python" --version
  "$python" -c 'import sqe_fast._core' 2>/dev/null || "$python" setup.py build_ext --inplace 2>&1 | tail -n 3
  echo "== tests marked gpu"
  timeout 200 "$python" -m pytest -q -m gpu -p no:cacheprovider tests
  echo "== timings"
  timeout 240 "$python" bench/gpu/check.py
  echo "exit code of the timings: $?"
} 2>&1 | tee "$folder/report.txt"
