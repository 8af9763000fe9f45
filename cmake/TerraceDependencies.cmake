# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

# Third-party libraries. Each is linked by one folder (docs/style.md); tests/tidy checks headers.
# libfuse and liburing may live in a prefix of their own, which scripts/setup builds.

# The floors; scripts/lib/common.sh has the same.
set(TERRACE_FUSE_MIN 3.18.3)
set(TERRACE_URING_MIN 2.6)

set(terrace_default_prefix /opt/terrace)
if(NOT "$ENV{TERRACE_PREFIX}" STREQUAL "")
  set(terrace_default_prefix "$ENV{TERRACE_PREFIX}")
endif()
set(TERRACE_PREFIX "${terrace_default_prefix}" CACHE PATH
    "Where scripts/setup put the libfuse and liburing that the system lacks")

# Another prefix than at the last configure: forget what was found in the old one.
if(NOT "${TERRACE_PREFIX_SEARCHED}" STREQUAL "${TERRACE_PREFIX}")
  unset(__pkg_config_checked_FUSE3 CACHE)
  unset(__pkg_config_checked_URING CACHE)
  set(TERRACE_PREFIX_SEARCHED "${TERRACE_PREFIX}" CACHE INTERNAL "")
endif()

find_package(PkgConfig)
find_package(Threads REQUIRED)

set(terrace_missing "")
set(terrace_saved_pkg_config_path "$ENV{PKG_CONFIG_PATH}")
set(terrace_pkg_config_path ${TERRACE_PREFIX}/lib/pkgconfig)
if(CMAKE_LIBRARY_ARCHITECTURE)
  list(APPEND terrace_pkg_config_path
       ${TERRACE_PREFIX}/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pkgconfig)
endif()
if(NOT terrace_saved_pkg_config_path STREQUAL "")
  list(APPEND terrace_pkg_config_path ${terrace_saved_pkg_config_path})
endif()
list(JOIN terrace_pkg_config_path ":" terrace_pkg_config_path)

if(PkgConfig_FOUND)
  set(ENV{PKG_CONFIG_PATH} "${terrace_pkg_config_path}")
  pkg_check_modules(FUSE3 QUIET IMPORTED_TARGET fuse3>=${TERRACE_FUSE_MIN})
  pkg_check_modules(URING QUIET IMPORTED_TARGET liburing>=${TERRACE_URING_MIN})
  set(ENV{PKG_CONFIG_PATH} "${terrace_saved_pkg_config_path}")
else()
  list(APPEND terrace_missing "pkg-config")
endif()
if(NOT FUSE3_FOUND)
  list(APPEND terrace_missing "libfuse3 >= ${TERRACE_FUSE_MIN}")
endif()
if(NOT URING_FOUND)
  list(APPEND terrace_missing "liburing >= ${TERRACE_URING_MIN}")
endif()

# A header and, if it is not header-only, a library, as the imported target terrace::<name>.
function(terrace_find_library name header library)
  find_path(TERRACE_${name}_INCLUDE ${header})
  mark_as_advanced(TERRACE_${name}_INCLUDE)
  set(found ${TERRACE_${name}_INCLUDE})
  add_library(terrace::${name} INTERFACE IMPORTED)
  if(library)
    find_library(TERRACE_${name}_LIBRARY ${library})
    mark_as_advanced(TERRACE_${name}_LIBRARY)
    if(TERRACE_${name}_LIBRARY)
      set_property(TARGET terrace::${name} PROPERTY
                   INTERFACE_LINK_LIBRARIES ${TERRACE_${name}_LIBRARY})
    else()
      set(found NO)
    endif()
  endif()
  if(NOT found)
    list(APPEND terrace_missing ${name})
    set(terrace_missing "${terrace_missing}" PARENT_SCOPE)
  elseif(NOT TERRACE_${name}_INCLUDE STREQUAL "/usr/include")
    set_property(TARGET terrace::${name} PROPERTY
                 INTERFACE_INCLUDE_DIRECTORIES ${TERRACE_${name}_INCLUDE})
  endif()
endfunction()

function(terrace_find_config package)
  find_package(${package} CONFIG QUIET GLOBAL)
  if(NOT ${package}_FOUND)
    list(APPEND terrace_missing ${package})
    set(terrace_missing "${terrace_missing}" PARENT_SCOPE)
  endif()
endfunction()

terrace_find_library(rocksdb rocksdb/db.h rocksdb)
terrace_find_library(zstd zstd.h zstd)
terrace_find_library(xxhash xxhash.h "")
terrace_find_library(expected tl/expected.hpp "")
terrace_find_config(spdlog)
terrace_find_config(CLI11)
terrace_find_config(nlohmann_json)
terrace_find_config(tomlplusplus)
if(TERRACE_TESTS)
  terrace_find_config(GTest)
  find_package(Python3 3.9 COMPONENTS Interpreter QUIET) # tests/tidy; skipped without it
endif()
if(TERRACE_BENCH)
  terrace_find_config(benchmark)
endif()

if(terrace_missing)
  list(JOIN terrace_missing ", " terrace_missing)
  message(FATAL_ERROR
    "not found: ${terrace_missing} (looked in ${TERRACE_PREFIX} and in the system's folders).\n"
    "Run scripts/setup, which installs what is missing; with another prefix than /opt/terrace, set "
    "TERRACE_PREFIX for both.")
endif()

# The binary runs in place: where libfuse and liburing were found is its run path. The folders of
# the prefix come in any case, so that a second library from there is found too.
set(CMAKE_BUILD_RPATH ${FUSE3_LIBRARY_DIRS} ${URING_LIBRARY_DIRS})
list(REMOVE_DUPLICATES CMAKE_BUILD_RPATH)
set(CMAKE_INSTALL_RPATH ${CMAKE_BUILD_RPATH})
message(STATUS "libfuse ${FUSE3_VERSION}, liburing ${URING_VERSION} (prefix ${TERRACE_PREFIX})")
