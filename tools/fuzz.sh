#!/usr/bin/env bash
# Build the libFuzzer targets with clang, AddressSanitizer and UBSan, and run each for a while.
#
#   tools/fuzz.sh [SECONDS] [TARGET ...]  default: 200 seconds each of fuzz_load, fuzz_text, fuzz_fusion
#
# What was learned stays in build-fuzz/corpus; an input that fails is kept in build-fuzz/findings and ends the
# run. Environment: CLANGXX (default clang++), PYTHON (default python3), JOBS.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/build.sh

seconds=${1:-200}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || fail "SECONDS must be a whole number above 0; got '$seconds'"
shift || true
targets=("$@")
((${#targets[@]})) || targets=(fuzz_load fuzz_text fuzz_fusion)
clangxx=${CLANGXX:-clang++}
need "$clangxx" "clang: apt-get install clang libclang-rt-dev"
can_link "$clangxx" -fsanitize=fuzzer-no-link,address,undefined ||
  fail "$clangxx cannot link the sanitizers' runtimes: apt-get install libclang-rt-dev (libclang-rt-14-dev for clang 14)"

folder=build-fuzz
configure "$folder" "$clangxx" -DSQE_FAST_FUZZ=ON -DSQE_FAST_SANITIZE=address,undefined
cmake --build "$folder" --target write_seeds "${targets[@]}" -j "$jobs"
mkdir -p "$folder/seeds/fuzz_load" "$folder/findings"
"$folder/write_seeds" "$folder/seeds/fuzz_load"
for target in "${targets[@]}"; do
  echo "== $target, $seconds s"
  mkdir -p "$folder/corpus/$target" "$folder/seeds/$target"
  # Index files need room for a section table; other inputs stay small to be many.
  length=4096
  [[ $target == fuzz_load ]] && length=16384
  UBSAN_OPTIONS=print_stacktrace=1 "$folder/$target" -max_total_time="$seconds" -max_len="$length" \
    -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 -verbosity=1 \
    -artifact_prefix="$folder/findings/$target-" "$folder/corpus/$target" "$folder/seeds/$target"
done
