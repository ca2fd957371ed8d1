#!/usr/bin/env bash
# Build the kernels with AddressSanitizer + UBSan and with ThreadSanitizer, and run the native tests under each.
#
#   tools/sanitize.sh [asan|tsan ...]     default: both
#
# Environment: CXX (default c++), PYTHON (default python3; the Unicode tables are its own), JOBS.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/build.sh

cxx=${CXX:-c++}
need "$cxx" "a C++20 compiler: apt-get install g++"

run() { # NAME SANITIZERS
  local folder=build-$1
  can_link "$cxx" "-fsanitize=$2" || fail "$cxx cannot link -fsanitize=$2; with GCC on Debian its runtimes come with
  the compiler (libasan, libubsan, libtsan): apt-get install g++; with clang: apt-get install libclang-rt-dev"
  configure "$folder" "$cxx" -DSQE_FAST_NATIVE_TESTS=ON "-DSQE_FAST_SANITIZE=$2"
  cmake --build "$folder" --target native_tests -j "$jobs"
  echo "== native tests, -fsanitize=$2"
  # The address space that the sanitizers lay out does not suit every kernel's randomisation: switch it off.
  local still=()
  if command -v setarch >/dev/null && setarch -R true 2>/dev/null; then still=(setarch -R); fi
  ASAN_OPTIONS=detect_stack_use_after_return=1:strict_init_order=1:check_initialization_order=1 \
    UBSAN_OPTIONS=print_stacktrace=1 \
    TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:die_after_fork=0 \
    "${still[@]}" "$folder/native_tests"
}

for name in "${@:-asan tsan}"; do
  for one in $name; do
    case $one in
      asan) run asan address,undefined ;;
      tsan) run tsan thread ;;
      *) fail "unknown sanitizer build '$one'; allowed are asan, tsan" ;;
    esac
  done
done
