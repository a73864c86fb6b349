# Read by CPack once for each kind of package: the tarball alone carries the libraries of other projects.
if(CPACK_GENERATOR STREQUAL "TGZ")
  list(APPEND CPACK_INSTALL_CMAKE_PROJECTS "${CPACK_DYN_BUILD};dyn;bundle;/")
  set(CPACK_PACKAGING_INSTALL_PREFIX /)
endif()
