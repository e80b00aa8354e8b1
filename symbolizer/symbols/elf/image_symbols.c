/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assembly code often leaves its functions without a type, so untyped symbols in code are read too,
 * as labels. A kernel image that an agent made from kallsyms has absolute symbols and no sections
 * of code; from such an image only symbols of type function are read.
 */

#include "symbolizer/symbols/elf/image_symbols.h"

#include <elf.h>
#include <string.h>

#include "common/search.h"
#include "symbolizer/symbols/symbol_limits.h"
#include "symbolizer/symbols/table/symbol_file.h"

static int compare_code_sections(const void *left, const void *right)
{
	const struct code_section *a = left;
	const struct code_section *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

int image_code_sections(const struct elf_image *image, struct code_section_vec *code)
{
	for (uint32_t i = 0; i < image->n_sections; i++) {
		const struct elf_image_section *section = &image->sections[i];
		int r;

		if (!elf_image_is_code(image, section))
			continue;
		r = vec_push(code, (struct code_section){
					   .index = i,
					   .start = section->elf_addr,
					   .end = section->elf_addr + section->size,
				   });
		if (r < 0)
			return r;
	}
	if (code->count > 0)
		qsort(code->items, code->count, sizeof(*code->items), compare_code_sections);
	return 0;
}

const struct code_section *code_section_at(const struct code_section_vec *code, uint64_t elf_addr)
{
	const size_t low = lower_bound(at, code->count, code->items[at].start <= elf_addr);

	return low > 0 && elf_addr < code->items[low - 1].end ? &code->items[low - 1] : NULL;
}

/* "$x", "$d.12": mapping symbols of ARM and RISC-V, which mark code and data within functions.
 * ".L": local labels of the compiler. */
static bool is_mapping_symbol(const char *name)
{
	return name[0] == '\0' || name[0] == '$' || strncmp(name, ".L", 2) == 0;
}

/* "net(.text)": Go's linker adds a symbol for each section of an object file written in C. */
static bool is_section_name(const char *name)
{
	const size_t length = strlen(name);

	return length > 0 && name[length - 1] == ')' && strstr(name, "(.text");
}

/* Returns the highest address at which the function of @symbol can end; 0 if the symbol is not a
 * function of this file. */
static uint64_t symbol_limit(const struct image_symbols *symbols, const struct elf_image *image,
			     const struct elf_image_symbol *symbol, bool label)
{
	const struct code_section *section = code_section_at(symbols->code, symbol->value);
	uint64_t limit;

	if (section && symbol->section != SHN_ABS)
		return image->relocatable && symbol->section != section->index ? 0 : section->end;
	if (label || image->relocatable)
		return 0;
	if (__builtin_add_overflow(symbol->value, UNBOUNDED_FUNCTION_MAX_BYTES, &limit))
		limit = UINT64_MAX;
	return limit;
}

static int add_symbol(struct image_symbols *symbols, const struct elf_image *image,
		      const struct elf_image_symbol *symbol)
{
	bool label = symbol->type == STT_NOTYPE || is_section_name(symbol->name);
	uint64_t limit;

	if (symbol->section == SHN_UNDEF)
		return 0;
	if (!symbols->has_text && strcmp(symbol->name, "_text") == 0) {
		symbols->has_text = true;
		symbols->text = symbol->value;
	}
	if (!label && symbol->type != STT_FUNC && symbol->type != STT_GNU_IFUNC)
		return 0;
	if (is_mapping_symbol(symbol->name))
		return 0;
	limit = symbol_limit(symbols, image, symbol, label);
	if (limit == 0)
		return 0;
	if (symbols->functions.count >= SYMBOLS_MAX)
		return -EFBIG;
	return vec_push(&symbols->functions, (struct function_candidate){
						     .start = symbol->value,
						     .size = symbol->size,
						     .limit = limit,
						     .name = symbol->name,
						     .label = label,
						     .weak = symbol->binding == STB_WEAK,
					     });
}

static int read_table(struct image_symbols *symbols, struct elf_image *image,
		      struct elf_image_section *section)
{
	uint32_t count;
	int r = elf_image_symbols(image, section, &count);

	if (r < 0)
		return r;
	for (uint32_t i = 1; i < count; i++) {
		struct elf_image_symbol symbol;

		/* A symbol with an invalid name is left out; the others are still read. */
		if (elf_image_symbol(image, section, i, &symbol) < 0)
			continue;
		r = add_symbol(symbols, image, &symbol);
		if (r < 0)
			return r;
	}
	return 0;
}

int image_symbols_read(struct image_symbols *symbols, struct elf_image *image)
{
	for (uint32_t i = 0; i < image->n_sections; i++) {
		struct elf_image_section *section = &image->sections[i];
		size_t before = symbols->functions.count;
		int r;

		if ((section->type != SHT_SYMTAB && section->type != SHT_DYNSYM) ||
		    section->stored.size == 0)
			continue;
		r = read_table(symbols, image, section);
		if (r < 0)
			return r;
		if (symbols->functions.count > before)
			symbols->sources |= section->type == SHT_SYMTAB ? SYMBOL_SOURCE_SYMTAB
									: SYMBOL_SOURCE_DYNSYM;
	}
	return 0;
}
