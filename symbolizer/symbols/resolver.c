/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch is searched in order of address, which is several times faster than at random, and makes
 * equal functions neighbours: each name is copied into the caller's arena once, because the table
 * may leave the cache at any time.
 */

#include "symbolizer/symbols/resolver.h"

#include <string.h>

#include "common/log.h"
#include "symbolizer/symbols/table_cache.h"

struct resolver {
	struct table_cache *tables;
};

int resolver_new(struct debuginfo_store *debuginfo, size_t cache_bytes,
		 struct resolver **ret_resolver)
{
	scoped(resolver_freep) struct resolver *resolver = calloc(1, sizeof(*resolver));
	int r;

	if (!resolver)
		return -ENOMEM;
	r = table_cache_new(debuginfo, cache_bytes, &resolver->tables);
	if (r < 0)
		return r;
	*ret_resolver = take_ptr(resolver);
	return 0;
}

struct resolver *resolver_free(struct resolver *resolver)
{
	if (!resolver)
		return NULL;
	table_cache_free(resolver->tables);
	free(resolver);
	return NULL;
}

const char *resolve_status_name(enum resolve_status status)
{
	switch (status) {
	case RESOLVED:
		return "resolved";
	case RESOLVE_NO_DEBUGINFO:
		return "no-debuginfo";
	case RESOLVE_NO_SYMBOL:
		return "no-symbol";
	case RESOLVE_TABLE_FAILED:
		return "table-failed";
	}
	return NULL;
}

struct batch_item {
	uint64_t elf_addr;
	size_t index; /* in the caller's arrays */
};

/* One batch's way through a table; arrays in the arena. */
struct resolve_batch {
	struct symbol_table *table;
	struct arena *arena;
	size_t count;
	struct batch_item *items; /* by elf_addr */
	uint64_t *elf_addrs;
	uint32_t *functions;
};

static int compare_items(const void *left, const void *right)
{
	const struct batch_item *a = left;
	const struct batch_item *b = right;

	return a->elf_addr < b->elf_addr ? -1 : a->elf_addr > b->elf_addr;
}

static int batch_search(struct resolve_batch *batch, uint64_t base, const uint64_t *addresses)
{
	bool sorted = true;

	batch->items = arena_alloc_array(batch->arena, batch->count, sizeof(*batch->items));
	batch->elf_addrs = arena_alloc_array(batch->arena, batch->count, sizeof(*batch->elf_addrs));
	batch->functions = arena_alloc_array(batch->arena, batch->count, sizeof(*batch->functions));
	if (!batch->items || !batch->elf_addrs || !batch->functions)
		return -ENOMEM;

	for (size_t i = 0; i < batch->count; i++) {
		batch->items[i] =
			(struct batch_item){ .elf_addr = base + addresses[i], .index = i };
		sorted = sorted &&
			 (i == 0 || batch->items[i - 1].elf_addr <= batch->items[i].elf_addr);
	}
	if (!sorted)
		qsort(batch->items, batch->count, sizeof(*batch->items), compare_items);
	for (size_t i = 0; i < batch->count; i++)
		batch->elf_addrs[i] = batch->items[i].elf_addr;
	symbol_table_find(batch->table, batch->elf_addrs, batch->count, batch->functions);
	return 0;
}

static int name_function(struct resolve_batch *batch, uint32_t function, struct symbol *ret_symbol)
{
	const char *linkage_name = symbol_table_linkage_name(batch->table, function);
	const char *display_name;
	int r;

	r = symbol_table_display_name(batch->table, function, batch->arena, &display_name);
	if (r < 0)
		return r;

	*ret_symbol = (struct symbol){
		.status = RESOLVED,
		.linkage_name = arena_copy_text(batch->arena, linkage_name, strlen(linkage_name)),
	};
	ret_symbol->function =
		strcmp(linkage_name, display_name) == 0
			? ret_symbol->linkage_name
			: arena_copy_text(batch->arena, display_name, strlen(display_name));
	return ret_symbol->function && ret_symbol->linkage_name ? 0 : -ENOMEM;
}

static int batch_name(struct resolve_batch *batch, struct symbol *ret_symbols)
{
	uint32_t previous = SYMBOL_TABLE_NO_FUNCTION;
	struct symbol symbol = {};

	for (size_t i = 0; i < batch->count; i++) {
		uint32_t function = batch->functions[i];
		int r;

		if (function == SYMBOL_TABLE_NO_FUNCTION) {
			ret_symbols[batch->items[i].index] =
				(struct symbol){ .status = RESOLVE_NO_SYMBOL };
			continue;
		}
		if (function != previous) {
			r = name_function(batch, function, &symbol);
			if (r < 0)
				return r;
			previous = function;
		}
		ret_symbols[batch->items[i].index] = symbol;
	}
	return 0;
}

static void fill(struct symbol *symbols, size_t count, enum resolve_status status)
{
	for (size_t i = 0; i < count; i++)
		symbols[i] = (struct symbol){ .status = status };
}

static int resolve_in_table(struct symbol_table *table, bool kernel_image,
			    const uint64_t *addresses, size_t count, struct arena *arena,
			    struct symbol *ret_symbols)
{
	struct resolve_batch batch = { .table = table, .arena = arena, .count = count };
	uint64_t base = 0;
	int r;

	if (kernel_image && !symbol_table_text_address(table, &base)) {
		log_warn("the debuginfo of a kernel has no symbol '_text', its frames stay without "
			 "names");
		fill(ret_symbols, count, RESOLVE_TABLE_FAILED);
		return 0;
	}
	r = batch_search(&batch, base, addresses);
	return r < 0 ? r : batch_name(&batch, ret_symbols);
}

int resolver_resolve(struct resolver *resolver, const struct executable_id *id, bool kernel_image,
		     const uint64_t *addresses, size_t count, struct arena *arena,
		     struct symbol *ret_symbols)
{
	struct table_loan loan = {};
	int r;

	if (count == 0)
		return 0;
	if (id->kind == EXECUTABLE_ID_NONE) {
		fill(ret_symbols, count, RESOLVE_NO_DEBUGINFO);
		return 0;
	}

	r = table_cache_borrow(resolver->tables, id, &loan);
	if (r < 0)
		return r;
	if (r == TABLE_READY) {
		r = resolve_in_table(loan.table, kernel_image, addresses, count, arena,
				     ret_symbols);
	} else {
		fill(ret_symbols, count,
		     r == TABLE_NONE ? RESOLVE_NO_DEBUGINFO : RESOLVE_TABLE_FAILED);
		r = 0;
	}
	table_cache_give_back(resolver->tables, &loan);
	return r;
}
