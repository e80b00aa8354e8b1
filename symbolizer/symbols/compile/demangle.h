/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Makes the display name of a function from its linkage name: demangles C++ and Rust names, and
 * drops parameters, return type and hash.
 *
 *   _ZNK3foo3barEi                         foo::bar
 *   _ZZN1AclEiENKUliE_clEi                 A::operator()(int)::{lambda(int)#1}::operator()
 *   _ZN3std2io6_print17h553351a860254660E  std::io::_print
 *   _Z4workv.part.0                        work.part.0        suffixes of GCC's clones are kept
 *   memcpy@@GLIBC_2.14, f.llvm.8151        memcpy, f          versions and LTO's numbers are cut
 *   _Z4workv@plt                           work@plt           PLT stubs keep their suffix
 *
 * Names may be hostile: the size of the output and of the stack is bounded. Thread-safe, without
 * state.
 */

#include "common/bytes.h"

/*
 * A longer name is not demangled and cut to this size. The longest in Chrome and LLVM have 4 KiB.
 */
#define MANGLED_NAME_MAX_BYTES 4096

/* A name that would expand to more is not demangled: 210 bytes can expand to 35 MB. */
#define DEMANGLED_NAME_MAX_BYTES (64 * KIB)

/*
 * Appends the display name, or the linkage name itself if it cannot be demangled. Returns 0,
 * -ENOMEM, -EFBIG (the ceiling of @out).
 */
int demangle_append(struct bytes *out, const char *linkage_name, size_t length);
