# Read by CPack once for each kind of package: the tarball carries the libraries of other projects, the .deb those that
# have another package on Ubuntu than on Debian.
if(CPACK_GENERATOR STREQUAL "TGZ")
  list(APPEND CPACK_INSTALL_CMAKE_PROJECTS "${CPACK_DYN_BUILD};dyn;bundle;/")
  set(CPACK_PACKAGING_INSTALL_PREFIX /)
else()
  list(APPEND CPACK_INSTALL_CMAKE_PROJECTS "${CPACK_DYN_BUILD};dyn;differing;/")
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS
      ${CPACK_PACKAGE_DIRECTORY}/_CPack_Packages/Linux/DEB/${CPACK_PACKAGE_FILE_NAME}/usr/lib/dyn/lib)
endif()
