# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

# terrace_add_library(NAME SOURCES … HEADERS … PUBLIC … PRIVATE …): the library of one folder.
#
# PUBLIC are the libraries below it (their headers may show in ours), PRIVATE what only this folder
# may include. While a folder has no .cc yet, its library is an interface.

# Compiles every header alone: one generated source per header. Built by default in the preset
# `clang` only; `ninja headers_check` elsewhere.
add_custom_target(headers_check)

function(terrace_check_headers name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "HEADERS;LIBS")
  if(NOT ARG_HEADERS)
    return()
  endif()
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set(sources "")
  foreach(header IN LISTS ARG_HEADERS)
    string(MAKE_C_IDENTIFIER ${header} id)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/headers_check/${id}.cc)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${folder}/${header}\"\n" @ONLY)
    list(APPEND sources ${source})
  endforeach()
  set(target ${name}_headers)
  add_library(${target} OBJECT ${sources})
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE ${ARG_LIBS})
  if(NOT TERRACE_HEADERS_CHECK)
    set_property(TARGET ${target} PROPERTY EXCLUDE_FROM_ALL TRUE)
  endif()
  add_dependencies(headers_check ${target})
endfunction()

function(terrace_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;HEADERS;PUBLIC;PRIVATE")
  if(ARG_SOURCES)
    add_library(${name} STATIC ${ARG_SOURCES} ${ARG_HEADERS})
    target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
    target_link_libraries(${name} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${CMAKE_SOURCE_DIR})
    target_link_libraries(${name} INTERFACE ${ARG_PUBLIC})
  endif()
  terrace_check_headers(${name} HEADERS ${ARG_HEADERS} LIBS ${ARG_PUBLIC} ${ARG_PRIVATE})
endfunction()

# `ninja format` rewrites our sources with clang-format 14, the one that .clang-format is written
# for; `ninja format_check` only looks. `ninja clang_tidy` runs the checks of .clang-tidy and needs
# a compilation database of clang.
find_program(TERRACE_CLANG_FORMAT NAMES clang-format-14)
find_program(TERRACE_RUN_CLANG_TIDY
  NAMES run-clang-tidy-14 run-clang-tidy-19 run-clang-tidy-18 run-clang-tidy)
set(terrace_list_sources
    "find base io cache fs mount tools tests -name '*.cc' -o -name '*.h' | sort")
if(TERRACE_CLANG_FORMAT)
  add_custom_target(format
    COMMAND sh -c "${terrace_list_sources} | xargs ${TERRACE_CLANG_FORMAT} -i"
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} VERBATIM)
  add_custom_target(format_check
    COMMAND sh -c "${terrace_list_sources} | xargs ${TERRACE_CLANG_FORMAT} --dry-run -Werror"
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} VERBATIM)
endif()
if(TERRACE_RUN_CLANG_TIDY AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_custom_target(clang_tidy
    COMMAND ${TERRACE_RUN_CLANG_TIDY} -quiet -p ${CMAKE_BINARY_DIR}
            "^${CMAKE_SOURCE_DIR}/(base|io|cache|fs|mount|tools)/"
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} VERBATIM)
endif()
