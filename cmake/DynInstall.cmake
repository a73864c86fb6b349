# What `./dev install PREFIX` copies: programs, compiler and runtime as libraries with their headers, CMake and pkg-config files,
# manual pages, completions for bash, zsh and fish. The prefix may be moved afterwards.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# What finds a library: cmake/LIBRARY-config.cmake.in for CMake, cmake/LIBRARY.pc.in for pkg-config.
function(dyn_install_config library)
  configure_package_config_file(cmake/${library}-config.cmake.in ${CMAKE_BINARY_DIR}/${library}-config.cmake
    INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/${library} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/${library}-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_BINARY_DIR}/${library}-config.cmake ${CMAKE_BINARY_DIR}/${library}-config-version.cmake
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/${library})
  configure_file(cmake/${library}.pc.in ${CMAKE_BINARY_DIR}/${library}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${library}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

set(DYN_PROGRAMS "")
foreach(program dynrepl dynrun dynstudio vmrun)
  if(TARGET ${program})
    list(APPEND DYN_PROGRAMS ${program})
  endif()
endforeach()
install(TARGETS ${DYN_PROGRAMS} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET dynrun_static)
  install(PROGRAMS ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/dynrun-static DESTINATION ${CMAKE_INSTALL_BINDIR})  # dynrepl looks beside itself
endif()
install(TARGETS dynvm LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET dyn_picture_library)
  install(TARGETS dyn_picture_library LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET dyn)
  install(TARGETS dyn LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY app/library/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dyn FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
  dyn_install_config(dyn)
endif()
install(FILES $<TARGET_FILE:dyn_vm> DESTINATION ${CMAKE_INSTALL_LIBDIR} RENAME libdynvm.a)
if(TARGET dynmodel)
  install(FILES ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/dynmodel.o DESTINATION lib)  # dynrepl looks for it at ../lib
  if(TARGET dynrun_object)
    install(FILES ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/dynrun.o DESTINATION lib)
  endif()
endif()
if(TARGET dynfreestanding_objects)
  get_target_property(DYN_FREESTANDING_OBJECTS dynfreestanding_objects DYN_OBJECTS)  # those that this build makes, as exports look for them
  install(FILES ${DYN_FREESTANDING_OBJECTS} DESTINATION lib)
endif()
if(CMAKE_CROSSCOMPILING AND TARGET dynrun_object)
  install(DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/system DESTINATION lib)  # as dynrepl links for another processor
endif()
install(DIRECTORY vm/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dyn FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
if(TARGET dynstudio)
  install(FILES ui/resources/dynstudio.desktop DESTINATION ${CMAKE_INSTALL_DATADIR}/applications)
  install(FILES ui/resources/dynstudio.svg DESTINATION ${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable/apps)
  install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/dyn/docs FILES_MATCHING PATTERN "*.md" PATTERN man EXCLUDE)  # of its Help menu
  foreach(sample models/bert models/gpt2 models/ssd models/lstm_loop models/early_exit 08_tree_lstm)  # of its start page, which looks at ../share/dyn/samples
    get_filename_component(folder ${sample} DIRECTORY)
    install(DIRECTORY samples/${sample} DESTINATION ${CMAKE_INSTALL_DATADIR}/dyn/samples/${folder} FILES_MATCHING PATTERN "*.onnx" PATTERN "*.dyn")
  endforeach()
endif()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES docs/man/dynrun.1 docs/man/dynstudio.1 docs/man/vmrun.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)

dyn_install_config(dynvm)

# dynrepl writes what follows from its own command line, so that no copy of it can be stale.
if(TARGET dynrepl)
  list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)  # none for this machine's own programs
  foreach(row "manual:${CMAKE_INSTALL_MANDIR}/man1/dynrepl.1"
              "completion bash:${CMAKE_INSTALL_DATADIR}/bash-completion/completions/dynrepl"
              "completion zsh:${CMAKE_INSTALL_DATADIR}/zsh/site-functions/_dynrepl"
              "completion fish:${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d/dynrepl.fish")
    string(REGEX MATCH "^([^:]*):(.*)$" parts "${row}")
    string(REPLACE " " ";" arguments "${CMAKE_MATCH_1}")
    set(file "${CMAKE_MATCH_2}")
    install(CODE "
      set(file \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${file}\")
      get_filename_component(folder \"\${file}\" DIRECTORY)
      file(MAKE_DIRECTORY \"\${folder}\")
      execute_process(COMMAND ${emulator} \"$<TARGET_FILE:dynrepl>\" ${arguments} OUTPUT_FILE \"\${file}\" COMMAND_ERROR_IS_FATAL ANY)
      message(STATUS \"Installing: \${file}\")")
  endforeach()
endif()

# What `./dev install` and `./dev package` build.
add_custom_target(installed)
foreach(target ${DYN_PROGRAMS} dynrun_static dynvm dyn dyn_vm dynmodel dynrun_object dynfreestanding_objects)
  if(TARGET ${target})
    add_dependencies(installed ${target})
  endif()
endforeach()
