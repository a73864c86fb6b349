# `./dev package`: a .deb and a tarball of what DynInstall.cmake installs, by CPack.
#
# The .deb names its libraries as packages (dpkg-shlibdeps); those whose packages differ between Debian and Ubuntu lie
# in lib/dyn/lib, so that one file installs on both. The tarball may be unpacked anywhere: the libraries of
# other projects that the shell needs lie in lib/dyn/lib, and programs look there first; LLVM, which looks in ../lib for
# its own, finds them there, too. The linker lies in lib/dyn/bin (compiler/export/linker.cpp). The C library, the
# compiler's runtime and the desktop (Qt) stay outside.
set(CPACK_PACKAGE_NAME dyn)
set(CPACK_PACKAGE_VENDOR "Dyn")
set(CPACK_PACKAGE_CONTACT "Dyn maintainers <maintainers@dyn.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "compiler and runtime for neural networks whose sizes vary")
set(CPACK_PACKAGE_DESCRIPTION "Dyn compiles an ONNX model once for every batch, sequence length and image size.
 It has a shell (dynrepl), a window (dynstudio), a runner of packages (dynrun) and a C library.")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
string(TOLOWER "${CMAKE_SYSTEM_NAME}" DYN_PACKAGE_SYSTEM)
set(CPACK_PACKAGE_FILE_NAME dyn-${PROJECT_VERSION}-${DYN_PACKAGE_SYSTEM}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};dyn;ALL;/")
set(CPACK_DYN_BUILD ${CMAKE_BINARY_DIR})
set(CPACK_GENERATOR "DEB;TGZ")
set(CPACK_THREADS 0)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS lld-19)  # packages are linked by it
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS binutils)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "graphviz, libsodium23, gcc")

# What each kind of package carries of other projects: the components `bundle` and `differing` (DynPackageGenerators.cmake).
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_SOURCE_DIR}/cmake/DynPackageGenerators.cmake)
find_program(DYN_LLD ld.lld-19)
file(REAL_PATH "${DYN_LLD}" DYN_LLD_FILE)
set(DYN_FIND_LIBRARIES "
  foreach(program dynrepl dynrun vmrun)
    list(APPEND programs \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin/\${program}\")
  endforeach()
  file(GET_RUNTIME_DEPENDENCIES EXECUTABLES \${programs} RESOLVED_DEPENDENCIES_VAR found
       POST_EXCLUDE_REGEXES \"/(ld-linux[^/]*|lib(c|m|dl|rt|pthread|gcc_s|stdc[+][+]))[.]so\")")
set(DYN_COPY_LIBRARIES "
  foreach(library \${found})
    file(INSTALL \"\${library}\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/lib/dyn/lib\" FOLLOW_SYMLINK_CHAIN)
  endforeach()")
install(CODE "${DYN_FIND_LIBRARIES}
  list(FILTER found INCLUDE REGEX \"/lib(jpeg|utf8proc)[.]so\")
  ${DYN_COPY_LIBRARIES}" COMPONENT differing EXCLUDE_FROM_ALL)
install(CODE "
  if(EXISTS \"${DYN_LLD_FILE}\")
    file(INSTALL \"${DYN_LLD_FILE}\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/lib/dyn/bin/program\" TYPE PROGRAM RENAME ld.lld)
    file(INSTALL \"${CMAKE_SOURCE_DIR}/cmake/bundled_linker.sh\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/lib/dyn/bin\" TYPE PROGRAM RENAME ld.lld-19)
  endif()
  ${DYN_FIND_LIBRARIES}
  ${DYN_COPY_LIBRARIES}" COMPONENT bundle EXCLUDE_FROM_ALL)
include(CPack)
