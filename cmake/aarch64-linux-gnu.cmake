# Toolchain of the preset aarch64: Debian's g++-aarch64-linux-gnu. What it makes runs here by qemu-aarch64 (package qemu-user), tests included.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# Libraries with code are the target's; headers of others (CLI11, JSON) are the same for every processor, and so are their CMake files.
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
# LLVM and other libraries of the compiler, unpacked by aarch64_sysroot.sh (./dev setup arm).
set(DYN_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../build/sysroot-aarch64)
cmake_path(NORMAL_PATH DYN_SYSROOT)
if(EXISTS ${DYN_SYSROOT}/ready)
  list(PREPEND CMAKE_FIND_ROOT_PATH ${DYN_SYSROOT})
  set(LLVM_DIR ${DYN_SYSROOT}/usr/lib/llvm-19/lib/cmake/llvm)
  set(DYN_SYSROOT_LIBRARIES ${DYN_SYSROOT}/usr/lib/aarch64-linux-gnu:${DYN_SYSROOT}/lib/aarch64-linux-gnu)
  foreach(kind EXE SHARED)
    set(CMAKE_${kind}_LINKER_FLAGS_INIT "-Wl,-rpath-link,${DYN_SYSROOT_LIBRARIES}")  # libraries that libraries need
  endforeach()
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
find_program(DYN_QEMU qemu-aarch64)
if(DYN_QEMU)
  # -R: a dry run reserves addresses, as many as there are, and qemu keeps a table of their pages.
  set(CMAKE_CROSSCOMPILING_EMULATOR ${DYN_QEMU} -R 16G -L /usr/aarch64-linux-gnu)
  if(DYN_SYSROOT_LIBRARIES)  # LLVM looks for what it needs beside itself only
    list(APPEND CMAKE_CROSSCOMPILING_EMULATOR -E LD_LIBRARY_PATH=${DYN_SYSROOT_LIBRARIES})
  endif()
endif()
set(DYN_BFD_NAMES aarch64-linux-gnu-ld.bfd)
