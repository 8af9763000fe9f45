# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

# The language, the warnings, the sanitizers and the compiler cache, for every target alike.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  message(FATAL_ERROR "GCC ${CMAKE_CXX_COMPILER_VERSION} is too old: TerraceFS needs GCC 12 or "
                      "clang 14, or newer")
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
  message(FATAL_ERROR "clang ${CMAKE_CXX_COMPILER_VERSION} is too old: TerraceFS needs GCC 12 or "
                      "clang 14, or newer")
endif()

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(TERRACE_CCACHE ccache)
  if(TERRACE_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${TERRACE_CCACHE})
  endif()
endif()

add_compile_definitions(_FILE_OFFSET_BITS=64 _GNU_SOURCE)
add_compile_options(
  -Wall -Wextra -Werror
  -fno-omit-frame-pointer # what perf and the sanitizers walk
  -fdiagnostics-color=auto
  # __FILE__ in asserts is the path in the repository, not where somebody built it.
  -fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)

if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options(-Wthread-safety)
elseif(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC bug 105651: literal + std::string is reported as an overlapping copy. Fixed in 13.
  add_compile_options(-Wno-restrict)
endif()

if(TERRACE_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
elseif(TERRACE_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread)
  add_link_options(-fsanitize=thread)
elseif(TERRACE_SANITIZE)
  message(FATAL_ERROR "TERRACE_SANITIZE is '${TERRACE_SANITIZE}': use address or thread")
endif()
if(TERRACE_SANITIZE)
  # Code with sanitizers defeats GCC's flow analysis (its manual says so); the release build checks.
  add_compile_options(-Wno-maybe-uninitialized)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-stringop-overflow -Wno-array-bounds -Wno-dangling-pointer)
  endif()
endif()
