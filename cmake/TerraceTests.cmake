# Copyright 2026 The TerraceFS Authors
# SPDX-License-Identifier: Apache-2.0

# terrace_add_test_suite(NAME LABEL … SOURCES … LIBS … [TIMEOUT seconds]): one GoogleTest binary.
#
# Nothing is made while SOURCES is empty. Test code sees TERRACE_BINARY (the program under test)
# and TERRACE_SOURCE_DIR (for golden files). A test that calls GTEST_SKIP is shown as skipped.

# What the sanitizers are told, for tests and for the daemons they start. One variable in each
# property: gtest_discover_tests can't hand on a list.
set(terrace_test_environment "")
if(TERRACE_SANITIZE STREQUAL "address")
  set(terrace_test_environment
    ENVIRONMENT ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1
    ENVIRONMENT_MODIFICATION UBSAN_OPTIONS=set:print_stacktrace=1)
elseif(TERRACE_SANITIZE STREQUAL "thread")
  set(terrace_test_environment
    ENVIRONMENT TSAN_OPTIONS=halt_on_error=1:suppressions=${CMAKE_SOURCE_DIR}/tests/tsan.supp)
endif()

# `ninja tests_unit` builds what carries the label.
foreach(label unit model crash mount posix clients fuzz)
  add_custom_target(tests_${label})
endforeach()

function(terrace_add_test_suite name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "LABEL;TIMEOUT" "SOURCES;LIBS")
  if(NOT ARG_SOURCES)
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()

  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} GTest::gtest_main GTest::gmock)
  if(TARGET terrace_test_support)
    target_link_libraries(${name} PRIVATE terrace_test_support)
  endif()
  target_compile_definitions(${name} PRIVATE
    TERRACE_BINARY="${CMAKE_BINARY_DIR}/terrace" TERRACE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  if(TARGET terrace AND NOT ARG_LABEL MATCHES "^(unit|model)$")
    add_dependencies(${name} terrace)
  endif()
  add_dependencies(tests_${ARG_LABEL} ${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

  set(properties ${terrace_test_environment})
  if(ARG_LABEL MATCHES "mount|posix|clients")
    # Mounts share the page cache and the device: one such test at a time, beside other kinds.
    list(APPEND properties RESOURCE_LOCK mount)
  endif()
  string(REGEX REPLACE "_test$" "." prefix ${name})
  set(discover ${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 TEST_PREFIX ${prefix})
  gtest_discover_tests(${discover} TEST_FILTER "-Long*:*/Long*"
    PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT} ${properties})
  gtest_discover_tests(${discover} TEST_FILTER "Long*:*/Long*"
    PROPERTIES LABELS long TIMEOUT 3600 ${properties})
endfunction()
