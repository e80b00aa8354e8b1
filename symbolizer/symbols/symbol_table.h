/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The functions of one ELF file: sorted ranges of ELF addresses that do not overlap, each with the
 * name of its function. Made from .symtab, .dynsym and the subprograms of DWARF that neither of
 * them has.
 *
 * Where several symbols start at one address, the function is called by the one that is a function
 * (not a bare label), not weak, has a size, has the fewest leading underscores, and comes first in
 * the alphabet: the same on every run. A symbol without a size reaches to the next symbol of its
 * section. A function inside another one's range wins there. Bare labels inside a function are not
 * functions.
 *
 * Immutable once built, but for the names for people, which are made on first use and kept:
 * thread-safe.
 */

#include "common/arena.h"

struct symbol_table;

#define SYMBOL_TABLE_MESSAGE_SIZE 200

/*
 * Reads the ELF file behind @fd (not taken; nobody may change it meanwhile). ret_message is "" or
 * says what could not be used, also when there is a table. A file without any function gives an
 * empty table. Errors: -ENOEXEC no ELF file, -EBADMSG damaged, -EFBIG beyond a limit (see
 * symbol_limits.h), -ENOMEM.
 */
int symbol_table_build(int fd, struct symbol_table **ret_table,
		       char ret_message[SYMBOL_TABLE_MESSAGE_SIZE]);
struct symbol_table *symbol_table_free(struct symbol_table *table);

size_t symbol_table_count(const struct symbol_table *table);
size_t symbol_table_memory_bytes(const struct symbol_table *table);

/* The value of the symbol _text, to which addresses in a kernel image are relative. */
bool symbol_table_text_address(const struct symbol_table *table, uint64_t *ret_elf_addr);

#define SYMBOL_TABLE_NO_FUNCTION UINT32_MAX

/*
 * ret_functions[i] is the function at elf_addrs[i], or SYMBOL_TABLE_NO_FUNCTION. Any order; a
 * rising one is several times faster.
 */
void symbol_table_find(const struct symbol_table *table, const uint64_t *elf_addrs, size_t count,
		       uint32_t *ret_functions);

/* The range of @function; *ret_end is exclusive. */
void symbol_table_range(const struct symbol_table *table, uint32_t function, uint64_t *ret_start,
			uint64_t *ret_end);

/* As in the file (cut to MANGLED_NAME_MAX_BYTES); lives as long as the table. */
const char *symbol_table_linkage_name(const struct symbol_table *table, uint32_t function);

/* For people: demangled, without parameters; a copy in @arena, or the table's own text. -ENOMEM. */
int symbol_table_display_name(struct symbol_table *table, uint32_t function, struct arena *arena,
			      const char **ret_name);

#include "common/scoped.h"
DEFINE_SCOPED(struct symbol_table *, symbol_table_free);
