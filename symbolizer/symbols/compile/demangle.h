/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The name people know a function by: C++ and Rust names demangled, without parameters, return type
 * and hash.
 *
 *   _ZNK3foo3barEi                         foo::bar
 *   _ZZN1AclEiENKUliE_clEi                 A::operator()(int)::{lambda(int)#1}::operator()
 *   _ZN3std2io6_print17h553351a860254660E  std::io::_print
 *   _Z4workv.part.0                        work.part.0        suffixes of GCC's clones stay
 *   memcpy@@GLIBC_2.14, f.llvm.8151        memcpy, f          versions and LTO's numbers go
 *   _Z4workv@plt                           work@plt           stubs stay what they are
 *
 * Names are hostile: the output and the stack that a name may take are bounded. Thread-safe, keeps
 * no state.
 */

#include "common/bytes.h"

/* A longer name is shown as it is (its first bytes). The longest in Chrome and LLVM are about 4
 * KiB. */
#define MANGLED_NAME_MAX_BYTES 4096

/* A 210-byte name can expand to 35 MB; one that needs more than this is shown as it is. */
#define DEMANGLED_NAME_MAX_BYTES (64 * KIB)

/* Appends the name for people; what cannot be demangled is appended as it is. 0, -ENOMEM, -EFBIG
 * (@out's ceiling). */
int demangle_append(struct bytes *out, const char *linkage_name, size_t length);
