# Toolchain of the preset aarch64: Debian's g++-aarch64-linux-gnu. What it makes runs here by qemu-aarch64 (package qemu-user), tests included.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# Libraries with code are the target's; headers of others (CLI11, JSON) are the same for every processor, and so are their CMake files.
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
find_program(DYN_QEMU qemu-aarch64)
if(DYN_QEMU)
  # -R: a dry run reserves addresses, as many as there are, and qemu keeps a table of their pages.
  set(CMAKE_CROSSCOMPILING_EMULATOR ${DYN_QEMU} -R 16G -L /usr/aarch64-linux-gnu)
endif()
set(DYN_BFD_NAMES aarch64-linux-gnu-ld.bfd)
