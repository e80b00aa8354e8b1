/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * (executable identity, ELF address) -> names. Tables are made from the debuginfo store on first
 * use and kept in a cache bounded in bytes; a richer upload replaces the table, so that names of
 * the past change too. Thread-safe.
 */

#include "common/arena.h"
#include "symbolizer/debuginfo/debuginfo_store.h"

struct resolver;

/* @cache_bytes bounds the tables held in memory. */
int resolver_new(struct debuginfo_store *debuginfo, size_t cache_bytes,
		 struct resolver **ret_resolver);
struct resolver *resolver_free(struct resolver *resolver);

enum resolve_status {
	RESOLVED = 0,
	RESOLVE_NO_DEBUGINFO = 1, /* nothing was ever uploaded for this identity */
	RESOLVE_NO_SYMBOL = 2,    /* the table has no function at the address */
	RESOLVE_TABLE_FAILED = 3, /* the file could not be read */
};

const char *resolve_status_name(enum resolve_status status);

struct symbol {
	enum resolve_status status;
	const char *function;     /* demangled, without parameters; NULL when not resolved */
	const char *linkage_name; /* as in the symbol table; NULL when not resolved */
	/* The inlined functions at the address, innermost first, belong here when the tables know
	 * them. */
	const char *file; /* NULL when not known */
	uint32_t line;
};

/*
 * Resolves @count addresses of one executable; ret_symbols[count] with texts in @arena.
 * @kernel_image: addresses are relative to the symbol _text. 0 or negative errno (only out of
 * memory and the like).
 */
int resolver_resolve(struct resolver *resolver, const struct executable_id *id, bool kernel_image,
		     const uint64_t *addresses, size_t count, struct arena *arena,
		     struct symbol *ret_symbols);

DEFINE_SCOPED(struct resolver *, resolver_free);
