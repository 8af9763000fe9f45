# shellcheck shell=bash disable=SC2034,SC2154
# Helpers shared by the scripts of this folder. Source it from bash with `set -euo pipefail`.
# A script sets `terrace_script` to its own name before; it begins every message.

: "${terrace_script:=$(basename "$0")}"

# Version floors of the two libraries that Debian 12 has too old; CMake asks for the same.
readonly terrace_fuse_min=3.18.3
readonly terrace_uring_min=2.6

# One step, as it begins.
say() { printf '%s: %s\n' "$terrace_script" "$*"; }

# Something the reader should know, though the script goes on.
note() { printf '%s: note: %s\n' "$terrace_script" "$*" >&2; }

# Ends the script: what failed, why, what to do.
die() {
  printf '%s: %s: %s: %s\n' "$terrace_script" "$1" "$2" "$3" >&2
  exit 1
}

# Runs a command as root. It is called only where root is needed, so that a user whose machine is
# already set up never meets a password prompt.
as_root() {
  if [[ $(id -u) -eq 0 ]]; then "$@"; else sudo "$@"; fi
}

# need_root WHAT: ends the script if as_root could not work. It stands before quiet commands, whose
# own message nobody would see.
need_root() {
  [[ $(id -u) -eq 0 ]] || command -v sudo >/dev/null ||
    die "cannot $1" "that needs root, and there is no sudo" "run this script as root"
}

# The prefix outside the tree that holds what the system's packages lack.
terrace_prefix() { printf '%s\n' "${TERRACE_PREFIX:-/opt/terrace}"; }

# What PKG_CONFIG_PATH must be so that our libraries come before the system's.
terrace_pkg_config_path() {
  printf '%s\n' "$(terrace_prefix)/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
}

# The Python environment of the tests' clients. It lies outside the tree: it has some gigabytes.
terrace_venv() { printf '%s\n' "${TERRACE_VENV:-$(terrace_prefix)/venv}"; }

# The folder whose bin/ holds the outside judges.
terrace_judges() { printf '%s\n' "$(terrace_prefix)/judges"; }

# The clang versions we build with, the one that is the floor first.
readonly terrace_clang_versions="14 15 16 17 18 19 20 21"

# The version of the first installed clang that will do, or nothing.
terrace_clang_version() {
  local version
  for version in $terrace_clang_versions; do
    if [[ -x /usr/bin/clang++-$version ]]; then
      printf '%s\n' "$version"
      return 0
    fi
  done
}

# version_at_least HAVE WANT: dotted numbers, compared number by number.
version_at_least() {
  [[ -n $1 && $(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]
}

# The scratch directory of this run, removed however the script ends. It is made on first use, on
# disk rather than in a /tmp that may be memory; call it as `make_scratch`, then use $scratch.
# It takes the EXIT trap: a script that wants one of its own removes $scratch there itself.
scratch=
make_scratch() {
  [[ -z $scratch ]] || return 0
  scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/terrace-$terrace_script.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
}

# quietly COMMAND…: its output goes to $scratch/log, for the message in case it fails.
quietly() {
  make_scratch
  "$@" >"$scratch/log" 2>&1
}

# The line of the last quiet command's output that says most about a failure. Where that line hides
# that the network is at fault, the network's own word is added.
last_error() {
  local line network
  line=$(grep -aE '^(E|ERROR|error|fatal|.*: error|.*ERROR):' "$scratch/log" |
    grep -v '^E: Unable to fetch' | head -n 1 || true)
  [[ -n $line ]] || line=$(grep -av '^[[:space:]]*$' "$scratch/log" | tail -n 1 || true)
  network=$(grep -aioE -m 1 "(temporary failure|could(n't| not)) resolv[a-z]*|temporary failure in \
name resolution|network is unreachable|connection (refused|timed out)" "$scratch/log" | head -n 1 ||
    true)
  if [[ -n $network && $line != *"$network"* ]]; then line="$network; $line"; fi
  printf '%s\n' "${line:-no word from the program}" | cut -c 1-300
}
