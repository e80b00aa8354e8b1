# SPDX-License-Identifier: Apache-2.0
#
# Cross-builds Hearth for arm64 with a sysroot of unpacked Debian packages. arm64_build.sh makes the sysroot.
#
#   cmake -DCMAKE_TOOLCHAIN_FILE=tests/kernels/arm64.cmake -DHEARTH_SYSROOT=FOLDER ...
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

# CMake reads this file again for its test projects.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES HEARTH_SYSROOT)
set(CMAKE_SYSROOT ${HEARTH_SYSROOT})
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

# Use the host's tools, and the target's libraries and headers.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${HEARTH_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${HEARTH_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${HEARTH_SYSROOT}/usr/share/pkgconfig)
