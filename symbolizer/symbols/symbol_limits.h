/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Limits for reading one ELF file. Any client with a token for uploads can construct such a file.
 * The largest real files (Chrome, ceph, vmlinux with debuginfo) need less than a quarter of each
 * limit.
 */

#include "common/base.h"

/* Symbols of a file; 40 bytes each while a table is made. Chrome has 1.3 million. */
#define SYMBOLS_MAX (8u << 20)

/* CIEs of one .eh_frame. FDEs of further CIEs are left out. The agent has the same limit. */
#define CIES_MAX (1u << 16)

/* Names in the table. */
#define SYMBOL_NAMES_MAX_BYTES (512 * MIB)

/* All compressed debug sections of a file together, expanded; and the expanded size of one section
 * divided by its compressed size (zlib reaches at most 1032). */
#define DEBUG_EXPANDED_MAX_BYTES (2 * GIB)
#define DEBUG_EXPANSION_MAX      2000

/* Scopes (namespaces, classes, functions) around a function. Real C++ has fewer than 40. */
#define DIE_MAX_DEPTH 256

/* Depth of nested DWARF entries, lexical blocks and inlined functions included. Ceph has 96. */
#define DWARF_MAX_DEPTH 1024

/* Ranges of functions and inlined functions in one unit. The largest of ceph has 120 thousand. */
#define UNIT_RANGES_MAX (16u << 20)

/* References followed from a function to the entry that has its name. */
#define DIE_MAX_ORIGINS 16

/* Size of the last symbol of kallsyms, which has neither a size nor a section. */
#define UNBOUNDED_FUNCTION_MAX_BYTES (64 * KIB)

/* Expanded size of .gnu_debugdata. Fedora's largest has 3 MiB. */
#define MINI_DEBUGINFO_MAX_BYTES (256 * MIB)

/* A flat table. The one of ceph-osd has 58 MB. */
#define SYMBOL_FLAT_MAX_BYTES (4 * GIB)

/* Buffer for the message that says why a file, or a part of it, cannot be used. */
#define SYMBOL_COMPILE_MESSAGE_SIZE 240
