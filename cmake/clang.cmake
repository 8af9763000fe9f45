# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

# Toolchain file of the preset `clang`: the installed clang++, under whatever name Debian gave it.

find_program(TERRACE_CLANGXX
  NAMES clang++ clang++-21 clang++-20 clang++-19 clang++-18 clang++-17 clang++-16 clang++-15
        clang++-14)
if(NOT TERRACE_CLANGXX)
  message(FATAL_ERROR "clang++ was not found: run scripts/setup, or build another preset")
endif()
set(CMAKE_CXX_COMPILER ${TERRACE_CLANGXX})
