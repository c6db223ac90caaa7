# Finds libsodium (Debian ships no CMake config). Defines Sodium::sodium.
include(FindPackageHandleStandardArgs)
find_path(SODIUM_INCLUDE_DIR sodium.h)
find_library(SODIUM_LIBRARY sodium)
find_package_handle_standard_args(Sodium REQUIRED_VARS SODIUM_LIBRARY SODIUM_INCLUDE_DIR)
mark_as_advanced(SODIUM_INCLUDE_DIR SODIUM_LIBRARY)
if(SODIUM_FOUND AND NOT TARGET Sodium::sodium)
  add_library(Sodium::sodium UNKNOWN IMPORTED)
  set_target_properties(Sodium::sodium PROPERTIES IMPORTED_LOCATION ${SODIUM_LIBRARY}
                                                  INTERFACE_INCLUDE_DIRECTORIES ${SODIUM_INCLUDE_DIR})
endif()
