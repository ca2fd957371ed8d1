# What tools/sanitize.sh and tools/fuzz.sh share; sourced by them from the root of the repository.

jobs=${JOBS:-$(nproc)}

fail() {
  echo "error: $*" >&2
  exit 1
}

need() { # COMMAND HOW_TO_GET_IT
  command -v "$1" >/dev/null || fail "$1 not found; it needs $2"
}

can_link() { # COMPILER FLAG
  local out
  out=$(mktemp)
  local good=0
  echo 'int main() {}' | "$1" -x c++ "$2" -o "$out" - 2>/dev/null || good=1
  rm -f "$out"
  return $good
}

configure() { # FOLDER COMPILER OPTION...
  local folder=$1 compiler=$2
  shift 2
  need cmake "cmake >= 3.22: pip install cmake, or apt-get install cmake"
  need "${PYTHON:-python3}" "Python >= 3.11"
  local generator=()
  if command -v ninja >/dev/null && [[ ! -e $folder/CMakeCache.txt ]]; then generator=(-G Ninja); fi
  cmake -S . -B "$folder" "${generator[@]}" "-DCMAKE_CXX_COMPILER=$compiler" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    "-DPython_EXECUTABLE=$(command -v "${PYTHON:-python3}")" -DSQE_FAST_PYTHON=OFF "$@" >"$folder.log" ||
    { cat "$folder.log" >&2; fail "cmake could not configure $folder"; }
  rm -f "$folder.log"
}
