# What `cmake --install` adds to the libraries and the executable: the public header, and the package that find_package(holdfast) reads,
# with the find modules of those dependencies for which Debian ships none.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/holdfast)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/holdfast-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/holdfast-config.cmake ${PROJECT_BINARY_DIR}/holdfast-config-version.cmake cmake/FindCAF.cmake
              cmake/FindLMDB.cmake cmake/FindSodium.cmake
        DESTINATION ${package_folder})
install(EXPORT holdfast-targets NAMESPACE holdfast:: DESTINATION ${package_folder})
install(DIRECTORY include/holdfast DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
