#!/usr/bin/env bash
# Installs Debian's chromium and chromium-driver, which the tests of the page use, where they are missing and can be
# had: as root on a system with apt-get. Elsewhere it says so and succeeds, and those tests skip.
set -uo pipefail

have() { command -v chromium >/dev/null && command -v chromedriver >/dev/null; }

give_up() {
  echo "chromium is not installed and $1: the tests of the page will skip" >&2
  exit 0
}

have && exit 0
command -v apt-get >/dev/null || give_up "there is no apt-get"
[ "$(id -u)" -eq 0 ] || give_up "apt-get needs root"

export DEBIAN_FRONTEND=noninteractive
install() { apt-get install -y -qq --no-install-recommends chromium chromium-driver >/dev/null 2>&1; }
install || { apt-get update -qq >/dev/null 2>&1 && install; } || give_up "apt-get could not install it"
have || give_up "apt-get did not bring it"
