/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parallel arrays, so that a search touches starts only. Names are interned, and the names for
 * people hang at the interned one: made by whoever asks first, published by compare-and-swap; who
 * loses takes the winner's.
 */

#include "symbolizer/symbols/symbol_table.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/string_table.h"
#include "symbolizer/symbols/demangle.h"
#include "symbolizer/symbols/function_source.h"
#include "symbolizer/symbols/symbol_limits.h"

struct symbol_table {
	uint64_t *starts; /* [count], rising */
	uint64_t *ends;   /* [count] */
	string_id *names; /* [count] */
	uint32_t count;
	bool has_text;
	uint64_t text;
	struct string_table *linkage_names;
	size_t linkage_bytes;
	_Atomic(char *) *display_names; /* by string_id; NULL not asked for yet */
	_Atomic size_t display_bytes;
};

static int table_fill(struct symbol_table *table, const struct function_range_vec *ranges)
{
	table->starts = calloc(ranges->count + 1, sizeof(*table->starts));
	table->ends = calloc(ranges->count + 1, sizeof(*table->ends));
	table->names = calloc(ranges->count + 1, sizeof(*table->names));
	if (!table->starts || !table->ends || !table->names)
		return -ENOMEM;

	for (size_t i = 0; i < ranges->count; i++) {
		const struct function_range *range = &ranges->items[i];
		size_t length = strnlen(range->name, MANGLED_NAME_MAX_BYTES);
		int r;

		r = string_table_intern(table->linkage_names, range->name, length,
					&table->names[i]);
		if (r < 0)
			return r == -ENOSPC ? -EFBIG : r;
		table->starts[i] = range->start;
		table->ends[i] = range->end;
	}
	table->count = (uint32_t)ranges->count;

	for (string_id id = 0; id < string_table_count(table->linkage_names); id++)
		table->linkage_bytes += string_table_length(table->linkage_names, id) + 1;
	table->display_names =
		calloc(string_table_count(table->linkage_names), sizeof(*table->display_names));
	return table->display_names ? 0 : -ENOMEM;
}

static int table_from_source(struct function_source *source, struct symbol_table **ret_table)
{
	scoped(symbol_table_freep) struct symbol_table *table = calloc(1, sizeof(*table));
	struct function_range_vec ranges = {};
	int r;

	if (!table)
		return -ENOMEM;
	r = string_table_new(SYMBOL_NAMES_MAX_BYTES, &table->linkage_names);
	if (r < 0)
		return r;

	table->has_text = source->has_text;
	table->text = source->text;
	r = function_ranges_make(&source->functions, &ranges);
	if (r == 0)
		r = table_fill(table, &ranges);
	vec_release(&ranges);
	if (r < 0)
		return r;
	*ret_table = take_ptr(table);
	return 0;
}

static int read_dwarf(struct function_source *source)
{
	int r;

	/* The message says which section, and what is wrong with it. */
	if (source->dwarf_error < 0)
		return source->dwarf_error;
	r = function_source_read_dwarf(source);
	if (r < 0)
		snprintf(source->message, SYMBOL_TABLE_MESSAGE_SIZE,
			 "the DWARF is damaged or in a form that cannot be read: functions that "
			 "only it names are unknown");
	return r;
}

/* Damage in DWARF costs what only DWARF knows, not the symbols. */
static int read_functions(struct function_source *source, uint64_t file_size)
{
	int r;

	r = function_source_check(source, file_size);
	if (r < 0)
		return r;
	r = function_source_read_symbols(source);
	if (r < 0) {
		snprintf(source->message, SYMBOL_TABLE_MESSAGE_SIZE,
			 "the symbol table is damaged or too large");
		return r;
	}
	if (source->relocatable || (source->debug_info_bytes == 0 && source->dwarf_error == 0))
		return 0;

	r = read_dwarf(source);
	return r < 0 && (r == -ENOMEM || source->functions.count == 0) ? r : 0;
}

int symbol_table_build(int fd, struct symbol_table **ret_table,
		       char ret_message[SYMBOL_TABLE_MESSAGE_SIZE])
{
	struct function_source source;
	struct stat status;
	int r;

	ret_message[0] = '\0';
	if (fstat(fd, &status) < 0)
		return -errno;
	r = function_source_open(&source, fd, ret_message);
	if (r == 0)
		r = read_functions(&source, (uint64_t)status.st_size);
	if (r == 0)
		r = table_from_source(&source, ret_table);
	function_source_release(&source);
	return r;
}

struct symbol_table *symbol_table_free(struct symbol_table *table)
{
	if (!table)
		return NULL;

	if (table->display_names) {
		for (string_id id = 0; id < string_table_count(table->linkage_names); id++)
			free(atomic_load(&table->display_names[id]));
	}
	free(table->display_names);
	string_table_free(table->linkage_names);
	free(table->starts);
	free(table->ends);
	free(table->names);
	free(table);
	return NULL;
}

size_t symbol_table_count(const struct symbol_table *table)
{
	return table->count;
}

size_t symbol_table_memory_bytes(const struct symbol_table *table)
{
	/* An interned text costs its entry, and two slots of the hash table behind it. */
	size_t per_name = sizeof(*table->display_names) + 16 + 2 * 8;

	return sizeof(*table) +
	       table->count *
		       (sizeof(*table->starts) + sizeof(*table->ends) + sizeof(*table->names)) +
	       table->linkage_bytes + string_table_count(table->linkage_names) * per_name +
	       atomic_load(&table->display_bytes);
}

bool symbol_table_text_address(const struct symbol_table *table, uint64_t *ret_elf_addr)
{
	if (table->has_text)
		*ret_elf_addr = table->text;
	return table->has_text;
}

/* How many of starts[low .. high) are at or below @elf_addr, plus @low. No branch depends on the
 * address. */
static size_t upper_bound(const uint64_t *starts, size_t low, size_t high, uint64_t elf_addr)
{
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		bool below = starts[middle] <= elf_addr;

		low = below ? middle + 1 : low;
		high = below ? high : middle;
	}
	return low;
}

/* The same, with steps that double from @from: cheap when the answer is near. All before @from are
 * below. */
static size_t upper_bound_from(const struct symbol_table *table, size_t from, uint64_t elf_addr)
{
	size_t low = from;
	size_t step = 1;

	while (low + step <= table->count && table->starts[low + step - 1] <= elf_addr) {
		low += step;
		step *= 2;
	}
	return upper_bound(table->starts, low, MIN(low + step, (size_t)table->count), elf_addr);
}

void symbol_table_find(const struct symbol_table *table, const uint64_t *elf_addrs, size_t count,
		       uint32_t *ret_functions)
{
	uint64_t previous = UINT64_MAX;
	size_t bound = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t elf_addr = elf_addrs[i];

		if (elf_addr >= previous)
			bound = upper_bound_from(table, bound, elf_addr);
		else
			bound = upper_bound(table->starts, 0, table->count, elf_addr);
		previous = elf_addr;
		ret_functions[i] = bound > 0 && elf_addr < table->ends[bound - 1]
					   ? (uint32_t)bound - 1
					   : SYMBOL_TABLE_NO_FUNCTION;
	}
}

void symbol_table_range(const struct symbol_table *table, uint32_t function, uint64_t *ret_start,
			uint64_t *ret_end)
{
	assert(function < table->count);
	*ret_start = table->starts[function];
	*ret_end = table->ends[function];
}

const char *symbol_table_linkage_name(const struct symbol_table *table, uint32_t function)
{
	assert(function < table->count);
	return string_table_text(table->linkage_names, table->names[function]);
}

static int make_display_name(const struct symbol_table *table, string_id name, struct bytes *text)
{
	int r;

	r = demangle_append(text, string_table_text(table->linkage_names, name),
			    string_table_length(table->linkage_names, name));
	return r < 0 ? r : bytes_append_byte(text, '\0');
}

/* Hands @text to the table unless that remembers enough already. Returns what the table has then,
 * or NULL. */
static const char *remember_display_name(struct symbol_table *table, string_id name,
					 struct bytes *text)
{
	char *expected = NULL;
	char *copy;

	if (atomic_load(&table->display_bytes) + text->size > DISPLAY_NAMES_MAX_BYTES)
		return NULL;
	copy = strdup((const char *)text->data);
	if (!copy)
		return NULL;
	if (!atomic_compare_exchange_strong(&table->display_names[name], &expected, copy)) {
		free(copy);
		return expected;
	}
	atomic_fetch_add(&table->display_bytes, text->size);
	return copy;
}

int symbol_table_display_name(struct symbol_table *table, uint32_t function, struct arena *arena,
			      const char **ret_name)
{
	struct bytes text = BYTES_INIT(DEMANGLED_NAME_MAX_BYTES + MANGLED_NAME_MAX_BYTES + 1);
	const char *name;
	string_id id;
	int r;

	assert(function < table->count);
	id = table->names[function];
	name = atomic_load_explicit(&table->display_names[id], memory_order_acquire);
	if (name) {
		*ret_name = name;
		return 0;
	}

	r = make_display_name(table, id, &text);
	if (r == 0)
		name = remember_display_name(table, id, &text);
	if (r == 0 && !name) {
		name = arena_copy(arena, text.data, text.size);
		r = name ? 0 : -ENOMEM;
	}
	bytes_release(&text);
	if (r == 0)
		*ret_name = name;
	return r;
}
