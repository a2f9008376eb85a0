# Cross build for aarch64 with Debian's compiler and the libraries of SP_SYSROOT, a directory made by
# tests/vm/lib/sysroot.py. What the build itself runs, runs under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SP_SYSROOT)
set(CMAKE_SYSROOT ${SP_SYSROOT})
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;${SP_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${SP_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${SP_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${SP_SYSROOT}/usr/share/pkgconfig)
# There are none for it.
set(CMAKE_Fortran_COMPILER NOTFOUND)
set(mpicc FALSE CACHE INTERNAL "")
