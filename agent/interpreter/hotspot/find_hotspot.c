/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hash table of exported symbols shows with two reads that a file has no such symbol, so that
 * the symbols of other files are not read.
 */
#include "agent/interpreter/hotspot/find_hotspot.h"

#include "agent/interpreter/hotspot/hotspot_layout.h"
#include "common/elf/elf_symbol.h"
#include "common/file.h"

/* The header of .gnu.hash, before its Bloom filter of words of 64 bits. */
struct gnu_hash_header {
	uint32_t n_buckets;
	uint32_t first_symbol;
	uint32_t n_words;
	uint32_t shift;
};

static uint32_t gnu_hash(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (uint8_t)*name;
	return hash;
}

/* Whether the file may export @name. True if it has no such hash table. */
static bool may_export(const struct elf_file *elf, const char *name)
{
	const struct elf_section *section = elf_file_section(elf, ".gnu.hash");
	const uint32_t hash = gnu_hash(name);
	struct gnu_hash_header header;
	uint64_t word, bits;

	if (!section)
		return elf_file_section(elf, ".hash");
	if (section->size < sizeof(header) ||
	    pread_all(elf->fd, &header, sizeof(header), section->file_offset) < 0 ||
	    header.n_words == 0 ||
	    (section->size - sizeof(header)) / sizeof(word) < header.n_words ||
	    pread_all(elf->fd, &word, sizeof(word),
		      section->file_offset + sizeof(header) +
			      (hash / 64 % header.n_words) * sizeof(word)) < 0)
		return false;
	bits = 1ULL << hash % 64 | 1ULL << (hash >> (header.shift & 31)) % 64;
	return (word & bits) == bits;
}

int find_hotspot(const struct elf_file *elf, struct interpreter_facts *ret_facts)
{
	struct elf_symbol symbols[] = {
#define X(id, symbol) { .name = symbol },
		HOTSPOT_SYMBOLS(X)
#undef X
	};
	struct interpreter_facts facts = { .runtime = INTERPRETER_HOTSPOT };
	int r;

	static_assert(ARRAY_SIZE(symbols) == ARRAY_SIZE(facts.symbols), "one for each symbol");
	if (!may_export(elf, symbols[HOTSPOT_SYMBOL_STRUCTS].name) ||
	    !may_export(elf, symbols[HOTSPOT_SYMBOL_TYPES].name))
		return 0;
	r = elf_symbols_find(elf, symbols, ARRAY_SIZE(symbols));
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		if (symbols[i].vaddr == 0 || symbols[i].vaddr > UINT32_MAX)
			return 0;
		facts.symbols[i] = (uint32_t)symbols[i].vaddr;
	}
	*ret_facts = facts;
	return 1;
}
