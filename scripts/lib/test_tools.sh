# shellcheck shell=bash disable=SC2034,SC2154
# What the tests use: a second compiler, clients of the mount, and judges that others wrote.
# Each thing that can't be had is skipped by name, since the tests that need it skip themselves too.

skipped=()

# skip NAME REASON
skip() {
  skipped+=("$1: $2")
  note "skipped $1: $2"
}

# ---- clang --------------------------------------------------------------------------------------

# The first version of clang that is installed, else the first that the package sources have.
pick_clang() {
  local version
  version=$(terrace_clang_version)
  for version in $version $terrace_clang_versions; do
    if [[ -x /usr/bin/clang++-$version || -n $(candidate_version "clang-$version") ]]; then
      printf '%s\n' "$version"
      return 0
    fi
  done
}

set_up_clang() {
  local version
  [[ -n $(terrace_clang_version) ]] || refresh_package_lists
  version=$(pick_clang)
  if [[ -z $version ]]; then
    skip clang "no version from 14 on is among this system's packages"
    return 0
  fi
  try_packages "clang $version" "clang-$version" "libclang-rt-$version-dev" \
    "clang-format-$version" "clang-tidy-$version"
}

# ---- Directories outside the tree that belong to whoever runs the set-up -------------------------

# pip and cargo should never run as root for a user who only lent it; so their folders are made by
# root if need be, and given to the caller.
own_directory() {
  [[ -d $1 ]] || mkdir -p "$1" 2>/dev/null ||
    as_root install -d -o "$(id -u)" -g "$(id -g)" "$1"
  [[ -w $1 ]]
}

free_gib() { df --output=avail -BG "$1" | tail -n 1 | tr -dc 0-9; }

# ---- Python clients -----------------------------------------------------------------------------

readonly python_clients="numpy torch safetensors h5py"
readonly torch_needs_gib=8

python_has() {
  "$(terrace_venv)/bin/python" -c 'import importlib.metadata as m, sys; m.version(sys.argv[1])' \
    "$1" 2>/dev/null
}

make_venv() {
  local venv
  venv=$(terrace_venv)
  [[ -x $venv/bin/python && -x $venv/bin/pip ]] && return 0
  own_directory "$venv" || { skip "$venv" "it can't be written by $(id -un)"; return 1; }
  say "making the Python environment $venv"
  quietly /usr/bin/python3 -m venv "$venv" || { skip "$venv" "$(last_error)"; return 1; }
}

run_pip() {
  TMPDIR=$scratch PIP_USER=0 "$(terrace_venv)/bin/pip" --disable-pip-version-check \
    --retries 2 "$@"
}

# PyPI's torch carries a GPU's libraries, some gigabytes that we don't use. If the index in use
# offers a build for the CPU by name, we take that one.
requirement_of() {
  local version=
  if [[ $1 == torch ]]; then
    version=$(run_pip index versions torch 2>/dev/null | grep -oE '[0-9][0-9.]*\+cpu' |
      head -n 1 || true)
  fi
  printf '%s\n' "$1${version:+==$version}"
}

install_client() {
  if [[ $1 == torch && $(free_gib "$(terrace_venv)") -lt $torch_needs_gib ]]; then
    skip torch "$(terrace_venv) has less than $torch_needs_gib GiB free"
    return 0
  fi
  say "installing Python's $1"
  quietly run_pip install --no-cache-dir "$(requirement_of "$1")" || skip "$1" "$(last_error)"
}

set_up_clients() {
  local client
  make_venv || return 0
  for client in $python_clients; do
    python_has "$client" || install_client "$client"
  done
  say "Python clients: in $(terrace_venv)"
}

# ---- Judges -------------------------------------------------------------------------------------

readonly judges="pjdfstest@0.2.2 fsx@0.3.2"
readonly cargo_min=1.85

cargo_version() { "$1" --version 2>/dev/null | awk '{ print $2 }' || true; }

# The first cargo that is new enough, or nothing.
find_cargo() {
  local cargo
  for cargo in cargo "$HOME/.cargo/bin/cargo" /usr/bin/cargo; do
    if version_at_least "$(cargo_version "$cargo")" "$cargo_min"; then
      printf '%s\n' "$cargo"
      return 0
    fi
  done
}

# Debian 12 has a newer toolchain beside its old one, under the names of the second pair.
install_cargo() {
  refresh_package_lists
  if version_at_least "$(candidate_version cargo)" "$cargo_min"; then
    try_packages "the judges" gcc libc6-dev cargo rustc
  elif version_at_least "$(candidate_version cargo-web)" "$cargo_min"; then
    try_packages "the judges" gcc libc6-dev cargo-web rustc-web
  fi
}

# is_built JUDGE@VERSION: cargo notes what it has installed.
is_built() {
  grep -qsF "\"${1%@*} ${1#*@} (" "$(terrace_judges)/.crates.toml"
}

build_judge() {
  say "building the judge ${1/@/ }"
  CARGO_TARGET_DIR=$scratch/judges quietly "$2" install --locked --root "$(terrace_judges)" "$1" ||
    skip "${1/@/ }" "$(last_error)"
}

set_up_judges() {
  local judge cargo=
  for judge in $judges; do
    if is_built "$judge"; then continue; fi
    if [[ -z $cargo ]]; then
      [[ -n $(find_cargo) ]] || install_cargo
      cargo=$(find_cargo)
    fi
    if [[ -z $cargo ]]; then
      skip "${judge/@/ }" "no cargo >= $cargo_min here (rustup installs one)"
    elif ! own_directory "$(terrace_judges)"; then
      skip "${judge/@/ }" "$(terrace_judges) can't be written by $(id -un)"
    else
      build_judge "$judge" "$cargo"
    fi
  done
  say "judges: in $(terrace_judges)"
}

# ---- All of them --------------------------------------------------------------------------------

# A device node that udev would have opened to everyone stays root's own where no udev runs; then
# fusermount3 can't mount for a user, which some tests do.
open_fuse_device() {
  if [[ -c /dev/fuse && $(stat -c %a /dev/fuse) != 666 ]]; then
    say "giving /dev/fuse the mode 0666, as udev does"
    need_root "change /dev/fuse"
    as_root chmod 0666 /dev/fuse
  fi
}

set_up_test_tools() {
  try_packages "tests" libgtest-dev libgmock-dev libbenchmark-dev acl attr fio git python3-venv \
    rsync sqlite3 strace universal-ctags util-linux xfsprogs btrfs-progs
  set_up_clang
  set_up_clients
  set_up_judges
  open_fuse_device
}
