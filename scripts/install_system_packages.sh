#!/usr/bin/env bash
# Installs, with apt, what the tests use beyond Python and is missing: a PostgreSQL server, Chromium, a Java runtime.
# Never fails: where it cannot install something it says so, and the tests skip those cases by name.
set -uo pipefail

have_postgres() { command -v postgres >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null; }

have_chromium() {
  command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null
}

have_java() { # 17 or newer: what Spark 4 needs
  local version
  version=$(java -version 2>&1 | sed -nE 's/.* version "([0-9]+).*/\1/p' | head -n 1)
  [ "${version:-0}" -ge 17 ]
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

can_install() {
  command -v apt-get >/dev/null && as_root true 2>/dev/null
}

update_lists() { # once, and only if something is missing
  [ -n "${updated:-}" ] || as_root apt-get update -qq >/dev/null 2>&1
  updated=yes
}

# install NAME CHECK PACKAGE...: the first package that installs and passes the check will do
install() {
  local name=$1 check=$2 package
  shift 2
  if "$check"; then
    echo "$name: present"
    return
  fi
  if ! can_install; then
    echo "$name: skipped, needs apt-get and root or passwordless sudo"
    return
  fi
  update_lists
  for package in "$@"; do
    if as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
      -o DPkg::Lock::Timeout=120 "$package" >/dev/null 2>&1 && "$check"; then
      echo "$name: installed $package"
      return
    fi
  done
  echo "$name: skipped, apt could not install any of: $*"
}

install "PostgreSQL server" have_postgres postgresql
install "Chromium" have_chromium chromium chromium-browser
install "Java runtime 17+" have_java openjdk-17-jre-headless default-jre-headless
exit 0
