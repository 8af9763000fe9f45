# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

# The target terrace_build_info gives one file (base/version.cc) the header
# "generated/build_info.h" with TERRACE_VERSION and TERRACE_COMMIT. It is looked after at every
# build and rewritten only when the commit changed, so that a commit recompiles one file.

set(terrace_build_info_header ${CMAKE_BINARY_DIR}/include/generated/build_info.h)
set(terrace_build_info_command
  ${CMAKE_COMMAND} -DSOURCE_DIR=${CMAKE_SOURCE_DIR} -DVERSION=${PROJECT_VERSION}
  -DOUTPUT=${terrace_build_info_header} -P ${CMAKE_SOURCE_DIR}/cmake/write_build_info.cmake)

execute_process(COMMAND ${terrace_build_info_command})
add_custom_target(terrace_write_build_info COMMAND ${terrace_build_info_command}
  BYPRODUCTS ${terrace_build_info_header} COMMENT "Looking up the commit" VERBATIM)

add_library(terrace_build_info INTERFACE)
target_include_directories(terrace_build_info INTERFACE ${CMAKE_BINARY_DIR}/include)
add_dependencies(terrace_build_info terrace_write_build_info)
