# A layer is one static library of all sources in its folder; its tests are one executable that links that layer only.

# holdfast_install(TARGET): a library of the installed package (HoldfastPackage.cmake).
function(holdfast_install target)
  if(HOLDFAST_INSTALL)
    install(TARGETS ${target} EXPORT holdfast-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
endfunction()

add_library(holdfast_options INTERFACE)
target_compile_features(holdfast_options INTERFACE cxx_std_20)
if(PROJECT_IS_TOP_LEVEL)  # these reach all that links us: not for the code of an embedder
  set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror)
  target_compile_options(holdfast_options INTERFACE "$<BUILD_INTERFACE:${warnings};-fno-omit-frame-pointer>")
endif()
target_include_directories(holdfast_options INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                      $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
holdfast_install(holdfast_options)

# holdfast_layer(NAME LINKS targets... [PRECOMPILE headers...]): library holdfast_NAME from this folder.
function(holdfast_layer name)
  cmake_parse_arguments(ARG "" "" "LINKS;PRECOMPILE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(NOT sources)  # a layer of headers
    add_library(holdfast_${name} INTERFACE)
    target_link_libraries(holdfast_${name} INTERFACE holdfast_options ${ARG_LINKS})
    holdfast_install(holdfast_${name})
    return()
  endif()
  add_library(holdfast_${name} STATIC ${sources})
  target_link_libraries(holdfast_${name} PUBLIC holdfast_options ${ARG_LINKS})
  if(ARG_PRECOMPILE)
    target_precompile_headers(holdfast_${name} PRIVATE ${ARG_PRECOMPILE})
  endif()
  holdfast_install(holdfast_${name})
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
