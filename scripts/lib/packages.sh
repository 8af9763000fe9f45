# shellcheck shell=bash disable=SC2034,SC2154
# Debian packages, from the package sources that the system already has.

apt_is_fresh=

# The packages of the list that are not installed, one a line.
missing_packages() {
  local have
  have=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null |
    sed -n 's/ installed$//p' || true)
  printf '%s\n' "$@" | grep -vxF "$have" || true
}

# Package lists are read once a run. A source of the system that can't be reached is no reason to
# stop: the packages we need may all come from the others, and installing tells.
refresh_package_lists() {
  [[ -z $apt_is_fresh ]] || return 0
  need_root "install packages"
  say "reading the system's package lists"
  quietly as_root apt-get -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=1 \
    --error-on=any update ||
    note "not every package source could be read ($(last_error)); going on with the others"
  apt_is_fresh=yes
}

apt_install() {
  quietly as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends \
    -o DPkg::Lock::Timeout=300 -o Acquire::Retries=2 install "$@"
}

# install_packages PURPOSE PACKAGE…: what the build can't do without.
install_packages() {
  local purpose=$1 missing
  shift
  mapfile -t missing < <(missing_packages "$@")
  if [[ ${#missing[@]} -eq 0 ]]; then
    say "Debian packages for $purpose: here"
    return 0
  fi
  refresh_package_lists
  say "Debian packages for $purpose: installing ${missing[*]}"
  apt_install "${missing[@]}" || die "cannot install ${missing[*]}, for $purpose" "$(last_error)" \
    "connect this machine to its package sources and run again, or install these by hand"
}

# The version that installing the package would give, without its Debian revision; or nothing.
candidate_version() {
  LC_ALL=C apt-cache policy "$1" 2>/dev/null |
    sed -nE 's/^  Candidate: ([0-9]+:)?([0-9][0-9.]*).*/\2/p'
}

# try_packages PURPOSE PACKAGE…: what the set-up can do without; the ones that can't be had are
# skipped by name. All at once first, since one by one is slow.
try_packages() {
  local purpose=$1 missing package
  shift
  mapfile -t missing < <(missing_packages "$@")
  if [[ ${#missing[@]} -eq 0 ]]; then
    say "Debian packages for $purpose: here"
    return 0
  fi
  refresh_package_lists
  say "Debian packages for $purpose: installing ${missing[*]}"
  apt_install "${missing[@]}" && return 0
  for package in "${missing[@]}"; do
    apt_install "$package" || skip "$package" "$(last_error)"
  done
}
