/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/executable/kernel_code.h"

#include <stdlib.h>
#include <string.h>

#include "agent/executable/kallsyms.h"
#include "common/utf8.h"

/* BPF code and trampolines: the largest program image the kernel allocates alone is below this. */
#define MAX_CODE_BYTES (2 * MIB)

/* BPF programs and trampolines of a host; a module that was loaded late may add some thousand. */
#define MAX_SYMBOLS 16384

void kernel_code_release(struct kernel_code *code)
{
	vec_release(&code->symbols);
}

static bool is_in_layout(const struct kernel_layout *layout, const struct kallsyms_symbol *symbol)
{
	if (symbol->owner[0] == '\0')
		return true; /* the image */
	for (size_t i = 0; i < layout->n_modules; i++) {
		if (strcmp(layout->modules[i].name, symbol->owner) == 0)
			return true;
	}
	return false;
}

static int compare_symbols(const void *left, const void *right)
{
	const struct kernel_code_symbol *a = left;
	const struct kernel_code_symbol *b = right;

	return (a->start > b->start) - (a->start < b->start);
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
	while ((r = kallsyms_next(kallsyms, &symbol)) > 0 && code->symbols.count < MAX_SYMBOLS) {
		struct kernel_code_symbol found = { .start = symbol.address };

		if (!kallsyms_is_text(&symbol) || symbol.address == 0 || is_in_layout(layout, &symbol))
			continue;
		/* Its hash is its key on the wire, where it must be UTF-8. */
		(void)utf8_repair(symbol.name, strlen(symbol.name), found.name, sizeof(found.name) - 1);
		r = vec_push(&code->symbols, found);
		if (r < 0)
			return r;
	}
	if (code->symbols.count > 0)
		qsort(code->symbols.items, code->symbols.count, sizeof(*code->symbols.items), compare_symbols);
	return r < 0 ? r : 0;
}

const char *kernel_code_find(const struct kernel_code *code, uint64_t pc)
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
	if (low == 0 || pc - code->symbols.items[low - 1].start >= MAX_CODE_BYTES)
		return NULL;
	return code->symbols.items[low - 1].name;
}
