/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What one ELF file, which anybody with the right to upload may have made, can cost us. The largest
 * files in practice (Chrome, ceph, vmlinux with debuginfo) stay below a quarter of each.
 */

#include "common/base.h"

/* Symbols and subprogram ranges together; 40 bytes each while a table is built. Chrome has 1.3
 * million. */
#define SYMBOLS_MAX (8u << 20)

/* Of one .eh_frame; FDEs of further ones are left out. As many as the agent reads. */
#define CIES_MAX (1u << 16)

/* Names that end in the table. */
#define SYMBOL_NAMES_MAX_BYTES (512 * MIB)

/* All compressed debug sections of a file together, expanded, and how much one may grow (zlib's
 * best is 1032). */
#define DEBUG_EXPANDED_MAX_BYTES (2 * GIB)
#define DEBUG_EXPANSION_MAX      2000

/* Nested scopes around a subprogram. Real C++ stays below 40. */
#define DIE_MAX_DEPTH 256

/*
 * Entries within each other, lexical blocks and inlined functions too. The deepest in ceph is 96.
 */
#define DWARF_MAX_DEPTH 1024

/* Ranges of functions and of inlined ones in one unit. The largest in ceph has 120 thousand. */
#define UNIT_RANGES_MAX (16u << 20)

/* References from a concrete subprogram to its declaration. */
#define DIE_MAX_ORIGINS 16

/* How far the last symbol without a size and a section (from kallsyms) may reach. */
#define UNBOUNDED_FUNCTION_MAX_BYTES (64 * KIB)

/* What .gnu_debugdata may expand to. Fedora's largest is 3 MiB. */
#define MINI_DEBUGINFO_MAX_BYTES (256 * MIB)

/* A flat table. That of ceph-osd has 58 MB. */
#define SYMBOL_FLAT_MAX_BYTES (4 * GIB)

/* Buffer for the sentence that says why a file, or a part of it, cannot be used. */
#define SYMBOL_COMPILE_MESSAGE_SIZE 240
