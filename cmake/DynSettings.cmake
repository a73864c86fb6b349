# Language level, warnings, sanitizers, and dyn_library(): one static library per source folder.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
# Installed programs look beside themselves first, and so do the libraries that they find there (DynPackage.cmake).
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib/dyn")
set(CMAKE_EXE_LINKER_FLAGS "${CMAKE_EXE_LINKER_FLAGS} -Wl,--disable-new-dtags")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# Warnings are errors with the compiler we develop with; another one's new warning must not stop a person's build. Nor
# must what GCC says of code that a sanitizer rewrote ("ignoring loop annotation" of a loop that is gone).
if(NOT DYN_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.")
  set(DYN_WERROR_DEFAULT ON)
else()
  set(DYN_WERROR_DEFAULT OFF)
endif()
option(DYN_WERROR "warnings are errors" ${DYN_WERROR_DEFAULT})

add_library(dyn_settings INTERFACE)
target_include_directories(dyn_settings INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(dyn_settings INTERFACE -Wall -Wextra $<$<BOOL:${DYN_WERROR}>:-Werror>
                                              -Wno-missing-field-initializers -fno-math-errno -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 warns of overlaps and dangling pointers inside its own std::string (GCC bugs 105329, 105651).
  target_compile_options(dyn_settings INTERFACE -Wno-restrict -Wno-dangling-pointer)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    # GCC 13 takes every reference got by way of a value that views other memory for a dangling one.
    target_compile_options(dyn_settings INTERFACE -Wno-dangling-reference)
  endif()
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  target_compile_definitions(dyn_settings INTERFACE DYN_VERIFY_EACH=1)
endif()
if(DYN_SANITIZE)
  string(REPLACE "+" "," DYN_SANITIZE_LIST "${DYN_SANITIZE}")
  add_compile_options(-fsanitize=${DYN_SANITIZE_LIST} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  # GCC sees uninitialised members of the standard library where the instrumented code hides what sets them.
  add_compile_options(-Wno-maybe-uninitialized)
  add_link_options(-fsanitize=${DYN_SANITIZE_LIST})
  target_compile_definitions(dyn_settings INTERFACE DYN_VERIFY_EACH=1)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND DYN_SANITIZE MATCHES "undefined")
    # Its check of function types reads bytes before the function: none are there in generated code.
    add_compile_options(-fno-sanitize=function)
  endif()
endif()
if(DYN_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "DYN_FUZZ needs clang: use the preset fuzz, or ./dev fuzz")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)  # coverage; libFuzzer itself is linked by the fuzz targets
endif()

find_program(DYN_CCACHE ccache)
if(DYN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Two clones share what they compile: paths below the sources count from the build folder.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${DYN_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()
find_program(DYN_MOLD mold)
if(DYN_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
find_package(Threads REQUIRED)

# dyn_library(NAME DEPS...): all .cpp files of the current folder and of those in it as the static library NAME.
# A new file is picked up by the next build; no list of files is kept by hand. A library of ours that this build
# leaves out (dyn_frontend_onnx with DYN_WITH_ONNX=OFF) is left out of DEPS, so libraries are defined lowest first.
function(dyn_library name)
  set(dependencies "")
  foreach(dependency ${ARGN})
    if(TARGET ${dependency} OR NOT dependency MATCHES "^dyn_")
      list(APPEND dependencies ${dependency})
    endif()
  endforeach()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(sources)
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC dyn_settings ${dependencies})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE dyn_settings ${dependencies})
  endif()
  set_property(GLOBAL APPEND PROPERTY DYN_LIBRARIES ${name})
endfunction()

# dyn_all_libraries(VARIABLE): all libraries of this build, for programs that may use any (fuzz targets, benchmarks).
function(dyn_all_libraries variable)
  get_property(libraries GLOBAL PROPERTY DYN_LIBRARIES)
  if(TARGET dyn_vm)
    list(APPEND libraries dyn_vm)
  endif()
  set(${variable} ${libraries} PARENT_SCOPE)
endfunction()
