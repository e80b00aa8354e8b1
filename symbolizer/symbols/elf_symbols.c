/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions from .symtab and .dynsym. Assembly often does not mark its functions as such, so that
 * untyped symbols in code count too, as bare labels. A kernel image that an agent made from
 * kallsyms has absolute symbols and no code sections: there only what is marked as a function
 * counts.
 */

#include <string.h>

#include "symbolizer/symbols/function_source.h"
#include "symbolizer/symbols/symbol_limits.h"

/* "$x", "$d.12", ...: ARM's and RISC-V's marks of code and data within functions; ".L": the
 * compiler's own labels. */
static bool is_mark(const char *name)
{
	return name[0] == '\0' || name[0] == '$' || strncmp(name, ".L", 2) == 0;
}

static bool is_function_type(unsigned int type)
{
	return type == STT_FUNC || type == STT_GNU_IFUNC;
}

/* Where a symbol's range ends at the latest; 0: it is no function of this file. */
static uint64_t symbol_limit(const struct function_source *source, const GElf_Sym *symbol,
			     bool label)
{
	const struct code_section *section = code_section_at(&source->code, symbol->st_value);
	uint64_t limit;

	if (section && symbol->st_shndx != SHN_ABS)
		return source->relocatable && symbol->st_shndx != section->index ? 0 : section->end;
	if (label || source->relocatable)
		return 0;
	if (__builtin_add_overflow(symbol->st_value, UNBOUNDED_FUNCTION_MAX_BYTES, &limit))
		limit = UINT64_MAX;
	return limit;
}

static int read_symbol(struct function_source *source, const GElf_Sym *symbol, const char *name)
{
	unsigned int type = GELF_ST_TYPE(symbol->st_info);
	bool label = type == STT_NOTYPE;
	uint64_t limit;

	if (symbol->st_shndx == SHN_UNDEF || !name)
		return 0;
	if (!source->has_text && strcmp(name, "_text") == 0) {
		source->has_text = true;
		source->text = symbol->st_value;
	}
	if ((!label && !is_function_type(type)) || is_mark(name))
		return 0;

	limit = symbol_limit(source, symbol, label);
	if (limit == 0)
		return 0;
	if (source->functions.count >= SYMBOLS_MAX)
		return -EFBIG;
	return vec_push(&source->functions,
			(struct function_candidate){
				.start = symbol->st_value,
				.size = symbol->st_size,
				.limit = limit,
				.name = name,
				.label = label,
				.weak = GELF_ST_BIND(symbol->st_info) == STB_WEAK,
			});
}

static int read_table(struct function_source *source, Elf_Scn *scn, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t count = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;

	if (!data)
		return -EBADMSG;
	for (size_t i = 1; i < count; i++) {
		GElf_Sym symbol;
		int r;

		if (!gelf_getsym(data, (int)i, &symbol))
			return -EBADMSG;
		r = read_symbol(source, &symbol,
				elf_strptr(source->elf, header->sh_link, symbol.st_name));
		if (r < 0)
			return r;
	}
	return 0;
}

int function_source_read_symbols(struct function_source *source)
{
	for (Elf_Scn *scn = elf_nextscn(source->elf, NULL); scn;
	     scn = elf_nextscn(source->elf, scn)) {
		GElf_Shdr header;
		int r;

		if (!gelf_getshdr(scn, &header))
			return -EBADMSG;
		if (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM)
			continue;
		r = read_table(source, scn, &header);
		if (r < 0)
			return r;
	}
	return 0;
}
