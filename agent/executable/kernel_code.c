/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/executable/kernel_code.h"

#include <stdlib.h>
#include <string.h>

#include "agent/executable/kallsyms.h"
#include "common/log.h"
#include "common/utf8.h"

/* Upper bound of the size of one BPF program or trampoline image. */
#define MAX_CODE_BYTES (2 * MIB)

/* BPF programs and trampolines of a host; a module that is loaded late may add some thousands. */
#define MAX_SYMBOLS 16384

void kernel_code_release(struct kernel_code *code)
{
	vec_release(&code->symbols);
}

static bool is_in_layout(const struct kernel_layout *layout, const struct kallsyms_symbol *symbol)
{
	if (symbol->owner[0] == '\0')
		return true; /* part of the image */
	for (size_t i = 0; i < layout->n_modules; i++) {
		if (strcmp(layout->modules[i].name, symbol->owner) == 0)
			return layout->modules[i].id.kind != EXECUTABLE_ID_NONE;
	}
	return false;
}

static int compare_symbols(const void *left, const void *right)
{
	const struct kernel_code_symbol *a = left;
	const struct kernel_code_symbol *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

static struct kernel_code_symbol make_symbol(uint64_t start, const char *name)
{
	struct kernel_code_symbol symbol = { .start = start };

	/* On the wire the name has to be UTF-8, and its hash is its key. */
	(void)utf8_repair(name, strlen(name), symbol.name, sizeof(symbol.name) - 1);
	return symbol;
}

static bool has_room(struct kernel_code *code)
{
	if (code->symbols.count < MAX_SYMBOLS)
		return true;
	if (code->n_left_out++ == 0)
		log_warn("the kernel has more than %d functions of BPF programs, trampolines and "
			 "modules without a build-ID: frames in the others get no names",
			 MAX_SYMBOLS);
	return false;
}

int kernel_code_read(struct kernel_code *code, const struct kernel_layout *layout)
{
	scoped(kallsyms_closep) struct kallsyms *kallsyms = NULL;
	struct kallsyms_symbol symbol;
	int r;

	r = kallsyms_open("/proc/kallsyms", &kallsyms);
	if (r < 0)
		return r;
	vec_clear(&code->symbols);
	while ((r = kallsyms_next(kallsyms, &symbol)) > 0) {
		struct kernel_code_symbol found = make_symbol(symbol.address, symbol.name);

		if (!kallsyms_is_text(&symbol) || symbol.address == 0 ||
		    is_in_layout(layout, &symbol) || !has_room(code))
			continue;
		r = vec_push(&code->symbols, found);
		if (r < 0)
			return r;
	}
	if (code->symbols.count > 0)
		qsort(code->symbols.items, code->symbols.count, sizeof(*code->symbols.items),
		      compare_symbols);
	return r < 0 ? r : 0;
}

/* Index of the first symbol above @pc. */
static size_t first_above(const struct kernel_code *code, uint64_t pc)
{
	size_t low = 0;
	size_t high = code->symbols.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (code->symbols.items[middle].start <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void kernel_code_remove(struct kernel_code *code, uint64_t start)
{
	size_t end = first_above(code, start);
	size_t first = end;

	/* Several names may have the same start. */
	while (first > 0 && code->symbols.items[first - 1].start == start)
		first--;
	if (first == end)
		return;
	memmove(&code->symbols.items[first], &code->symbols.items[end],
		(code->symbols.count - end) * sizeof(*code->symbols.items));
	code->symbols.count -= end - first;
}

int kernel_code_add(struct kernel_code *code, uint64_t start, const char *name)
{
	struct kernel_code_symbol added = make_symbol(start, name);
	size_t at;
	int r;

	kernel_code_remove(code, start);
	if (!has_room(code))
		return 0;
	at = first_above(code, start);
	r = vec_push(&code->symbols, added);
	if (r < 0)
		return r;
	memmove(&code->symbols.items[at + 1], &code->symbols.items[at],
		(code->symbols.count - 1 - at) * sizeof(*code->symbols.items));
	code->symbols.items[at] = added;
	return 0;
}

const char *kernel_code_find(const struct kernel_code *code, uint64_t pc)
{
	size_t above = first_above(code, pc);

	if (above == 0 || pc - code->symbols.items[above - 1].start >= MAX_CODE_BYTES)
		return NULL;
	return code->symbols.items[above - 1].name;
}
