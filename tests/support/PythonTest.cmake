# holdfast_python_test(MODULE.py LABEL name... [TIMEOUT seconds]): one ctest for a module of Python tests, run by run_clean.py,
# which fails it when it leaves a process or a file behind.
find_package(Python3 3.8 REQUIRED COMPONENTS Interpreter)

function(holdfast_python_test module)
  cmake_parse_arguments(ARG "" "TIMEOUT" "LABEL" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  math(EXPR seconds "${ARG_TIMEOUT} - 10")  # the runner aborts first: it knows what to clean up
  get_filename_component(name ${module} NAME_WE)
  string(REGEX REPLACE "^test_" "" name ${name})
  list(GET ARG_LABEL 0 first_label)
  add_test(NAME "${first_label}: ${name}"
           COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/support/run_clean.py --seconds ${seconds} ${module})
  set_tests_properties("${first_label}: ${name}" PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABEL}"
                       ENVIRONMENT "HOLDFAST_BINARY=$<TARGET_FILE:holdfast>")
endfunction()
