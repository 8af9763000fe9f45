# shellcheck shell=bash disable=SC2034,SC2154
# libfuse and liburing: the system's if they are new enough, else built from the Debian source
# packages of a newer suite into the prefix.
#
# The sources come through a private apt configuration in the scratch directory. So the system's
# own package sources stay as they are, and apt still verifies every file against Debian's keyring.

readonly debian_keyring=/usr/share/keyrings/debian-archive-keyring.gpg
readonly newer_suites="forky sid"
readonly default_mirror=http://deb.debian.org/debian
readonly native_way_out="connect this machine and run again, or copy the prefix from a machine of \
the same release that is set up, or install libfuse >= $terrace_fuse_min and liburing >= \
$terrace_uring_min yourself where pkg-config finds them"

# ---- What is here already -----------------------------------------------------------------------

system_version() {
  env -u PKG_CONFIG_PATH -u PKG_CONFIG_LIBDIR pkg-config --modversion "$1" 2>/dev/null || true
}

# A stamp is written when a build is installed completely, so that an interrupted one is repeated.
stamp_of() { printf '%s\n' "$(terrace_prefix)/share/terrace/built/$1"; }

prefix_version() {
  local stamp
  stamp=$(stamp_of "$1")
  if [[ -r $stamp && -r $(terrace_prefix)/lib/pkgconfig/$1.pc ]]; then cat "$stamp"; fi
}

# use_library NAME PACKAGE FLOOR: true if a new enough one is here or the system's packages have
# it; says which.
use_library() {
  local name=$1 package=$2 floor=$3 version
  version=$(prefix_version "$name")
  if version_at_least "$version" "$floor"; then
    say "$name $version: in $(terrace_prefix)"
    return 0
  fi
  version=$(system_version "$name")
  if ! version_at_least "$version" "$floor"; then
    version=$(candidate_version "$package")
    version_at_least "$version" "$floor" || return 1
    install_packages "$name" "$package"
  fi
  say "$name $version: the system's own"
}

# ---- Sources ------------------------------------------------------------------------------------

# The Debian mirror this system is configured for, if any, then Debian's own address.
# shellcheck disable=SC2016  # apt fills in the names, not the shell.
mirrors() {
  {
    apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(LABEL)' 'Created-By: Packages' |
      sed -nE 's|^(https?://.*[^/])/? Debian Debian$|\1|p'
    printf '%s\n' "$default_mirror"
  } 2>/dev/null | awk '!seen[$0]++'
}

# Every apt directory that this configuration writes to lies in the scratch directory.
private_apt() {
  local tool=$1
  shift
  "$tool" -q \
    -oDir::State="$scratch/apt/state" \
    -oDir::State::Lists="$scratch/apt/lists" \
    -oDir::Cache="$scratch/apt/cache" \
    -oDir::Etc::SourceList="$scratch/apt/sources.list" \
    -oDir::Etc::SourceParts=/dev/null \
    -oAPT::Sandbox::User="$(id -un)" \
    -oAcquire::Retries=2 "$@"
}

# read_suite MIRROR SUITE: makes the private configuration point there, and reads its index.
# A mirror that is behind (a frozen snapshot, say) will do, and is said: its index is signed all
# the same, and the version that we need is a floor of our own.
read_suite() {
  rm -rf "$scratch/apt"
  mkdir -p "$scratch/apt/"{state,lists/partial,cache/archives/partial}
  printf 'deb-src [signed-by=%s] %s %s main\n' "$debian_keyring" "$1" "$2" \
    >"$scratch/apt/sources.list"
  quietly private_apt apt-get --error-on=any update && return 0
  [[ $(last_error) == *"is expired"* ]] || return 1
  note "the index of Debian $2 at $1 is past its date; using it"
  quietly private_apt apt-get --error-on=any -oAcquire::Check-Valid-Until=false update
}

# The newest version of a source package that the private configuration sees, with its revision.
source_version() {
  private_apt apt-cache showsrc "$1" 2>/dev/null | sed -n 's/^Version: //p' | sort -V | tail -n 1
}

suite_has_what_we_need() {
  local fuse uring
  fuse=$(source_version fuse3)
  uring=$(source_version liburing)
  version_at_least "${fuse%-*}" "$terrace_fuse_min" &&
    version_at_least "${uring%-*}" "$terrace_uring_min"
}

find_suite() {
  local mirror suite why=
  for mirror in $(mirrors); do
    for suite in $newer_suites; do
      say "looking for newer sources in Debian $suite at $mirror"
      if ! read_suite "$mirror" "$suite"; then
        why=$(last_error)
      elif suite_has_what_we_need; then
        return 0
      else
        why="$suite has no libfuse >= $terrace_fuse_min"
      fi
    done
  done
  die "no sources of libfuse >= $terrace_fuse_min" "$why" "$native_way_out"
}

download_sources() { (cd "$scratch" && private_apt apt-get source --download-only "$@"); }

# fetch_source PACKAGE: unpacks it into $scratch/PACKAGE. dpkg-source would only add a warning that
# it lacks the maintainer's own key: apt has compared the hashes with the signed index.
fetch_source() {
  make_scratch
  [[ ! -d $scratch/$1 ]] || return 0
  [[ -r $scratch/apt/sources.list ]] || find_suite
  say "fetching the source of $1 $(source_version "$1")"
  quietly download_sources "$1" ||
    die "cannot download the source of $1" "$(last_error)" "$native_way_out"
  quietly dpkg-source --no-check -x "$scratch/$1"_*.dsc "$scratch/$1" ||
    die "cannot unpack the source of $1" "$(last_error)" "report this"
}

# ---- Building -----------------------------------------------------------------------------------

build_failed() {
  tail -n 20 "$scratch/log" >&2
  die "building $1 failed" "$(last_error)" "report this with the compiler's version"
}

# install_stage NAME VERSION: copies $scratch/stage-NAME into the prefix, the stamp last.
install_stage() {
  local prefix stamp
  prefix=$(terrace_prefix)
  stamp=$(stamp_of "$1")
  in_prefix mkdir -p "$prefix" "${stamp%/*}"
  in_prefix rm -f "$stamp"
  in_prefix cp -dR --preserve=mode,timestamps,links --remove-destination \
    "$scratch/stage-$1$prefix/." "$prefix/"
  printf '%s\n' "$2" | in_prefix tee "$stamp" >/dev/null
}

# Runs a command that writes to the prefix: as root only if the prefix isn't ours to write.
in_prefix() {
  local existing
  existing=$(terrace_prefix)
  while [[ ! -e $existing ]]; do existing=$(dirname "$existing"); done
  if [[ -w $existing ]]; then "$@"; else as_root "$@"; fi
}

# The compile functions run where the shell ignores `set -e`, hence the chains of &&.
# Everything but the manual pages is installed.
compile_liburing() (
  cd "$scratch/liburing" &&
    ./configure --prefix="$(terrace_prefix)" --libdir="$(terrace_prefix)/lib" \
      --mandir=/unwanted &&
    make -j"$(nproc)" -C src &&
    make install DESTDIR="$scratch/stage-liburing" &&
    rm -rf "$scratch/stage-liburing/unwanted"
)

# bindir tells libfuse where fusermount3 is. We name the system's, which is setuid root, and build
# no utilities: so there is no second setuid program, no init script, and no udev rule outside the
# prefix. The run path lets programs find the liburing that libfuse was built with.
compile_fuse3() (
  local prefix path
  prefix=$(terrace_prefix)
  path=$(terrace_pkg_config_path)
  cd "$scratch/fuse3" &&
    PKG_CONFIG_PATH=$path meson setup build --prefix="$prefix" --libdir=lib --bindir=/usr/bin \
      --wrap-mode=nodownload -Ddefault_library=both -Denable-io-uring=true \
      -Dutils=false -Dexamples=false -Dtests=false \
      -Dinitscriptdir= -Dudevrulesdir="$prefix/lib/udev/rules.d" \
      -Dc_link_args="-Wl,-rpath,$prefix/lib" &&
    ninja -C build &&
    has_uring build/fuse_config.h &&
    DESTDIR=$scratch/stage-fuse3 meson install -C build --no-rebuild
)

# meson only leaves io_uring out, without an error, if it misses liburing or libnuma.
has_uring() {
  grep '^#define HAVE_URING' "$1" || { echo "error: meson left io_uring out" && return 1; }
}

build_library() {
  local version
  fetch_source "$1"
  version=$(source_version "$1")
  version=${version%-*}
  say "building $1 $version"
  quietly "compile_$1" || build_failed "$1"
  install_stage "$1" "$version"
  say "$1 $version: installed in $(terrace_prefix)"
}

install_build_tools() {
  install_packages "building libraries" ca-certificates debian-archive-keyring dpkg-dev gcc make \
    meson libnuma-dev ninja-build pkg-config xz-utils
}

# libfuse needs liburing; whoever builds libfuse in the prefix therefore settles liburing first.
set_up_libraries() {
  if ! use_library liburing liburing-dev "$terrace_uring_min"; then
    install_build_tools
    build_library liburing
  fi
  if ! use_library fuse3 libfuse3-dev "$terrace_fuse_min"; then
    install_build_tools
    build_library fuse3
  fi
}

# ---- Peers that benchmarks compare with ---------------------------------------------------------

# shellcheck disable=SC2086  # The flags are words.
compile_passthrough_hp() (
  local flags target
  flags=$(PKG_CONFIG_PATH=$(terrace_pkg_config_path) pkg-config --cflags --libs fuse3)
  target=$scratch/stage-passthrough_hp$(terrace_prefix)/libexec
  mkdir -p "$target" &&
    cd "$scratch/fuse3/example" &&
    g++ -std=c++20 -O2 -g -pthread passthrough_hp.cc $flags -Wl,-rpath,"$(terrace_prefix)/lib" \
      -o "$target/passthrough_hp"
)

# libfuse's own example of a fast file system, as its authors build it.
set_up_peers() {
  local version
  if [[ -r $(stamp_of passthrough_hp) && -x $(terrace_prefix)/libexec/passthrough_hp ]]; then
    say "passthrough_hp: in $(terrace_prefix)/libexec"
    return 0
  fi
  install_build_tools
  fetch_source fuse3
  version=$(source_version fuse3)
  say "building passthrough_hp"
  quietly compile_passthrough_hp || build_failed passthrough_hp
  install_stage passthrough_hp "${version%-*}"
  say "passthrough_hp: installed in $(terrace_prefix)/libexec"
}
