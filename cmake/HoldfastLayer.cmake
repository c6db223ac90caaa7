# A layer is one static library of all sources in its folder; its tests are one executable that links that layer only.

add_library(holdfast_options INTERFACE)
target_compile_features(holdfast_options INTERFACE cxx_std_20)
if(PROJECT_IS_TOP_LEVEL)  # these reach all that links us: not for the code of an embedder
  target_compile_options(holdfast_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror
                                                    -fno-omit-frame-pointer)
endif()
target_include_directories(holdfast_options INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)

# holdfast_layer(NAME LINKS targets... [PRECOMPILE headers...]): library holdfast_NAME from this folder.
function(holdfast_layer name)
  cmake_parse_arguments(ARG "" "" "LINKS;PRECOMPILE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(NOT sources)  # a layer of headers
    add_library(holdfast_${name} INTERFACE)
    target_link_libraries(holdfast_${name} INTERFACE holdfast_options ${ARG_LINKS})
    return()
  endif()
  add_library(holdfast_${name} STATIC ${sources})
  target_link_libraries(holdfast_${name} PUBLIC holdfast_options ${ARG_LINKS})
  if(ARG_PRECOMPILE)
    target_precompile_headers(holdfast_${name} PRIVATE ${ARG_PRECOMPILE})
  endif()
endfunction()

# holdfast_test(NAME LINKS targets...): executable test_NAME from this folder, each case a ctest of its own.
function(holdfast_test name)
  cmake_parse_arguments(ARG "" "" "LINKS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(test_${name} ${sources} ${PROJECT_SOURCE_DIR}/tests/support/catch_main.cpp)
  target_link_libraries(test_${name} PRIVATE holdfast_${name} ${ARG_LINKS} Catch2::Catch2)
  catch_discover_tests(test_${name} TEST_PREFIX "${name}: " PROPERTIES TIMEOUT 300 LABELS ${name})
endfunction()
