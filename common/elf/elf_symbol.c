/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elf/elf_symbol.h"

#include <elf.h>

#include "common/file.h"
#include "common/limits.h"

/* Larger tables are not read. python3.11 with its debug symbols has 1 MiB. */
#define MAX_TABLE_BYTES (16 * MIB)

static bool has_name(const struct bytes *names, uint32_t offset, const char *name)
{
	size_t size = strlen(name) + 1;

	return offset < names->size && names->size - offset >= size &&
	       memcmp(names->data + offset, name, size) == 0;
}

static void find_in_table(const struct bytes *table, const struct bytes *names,
			  struct elf_symbol *symbols, size_t n_symbols)
{
	for (size_t at = 0; at + sizeof(Elf64_Sym) <= table->size; at += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;

		memcpy(&symbol, table->data + at, sizeof(symbol));
		if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0)
			continue;
		for (size_t i = 0; i < n_symbols; i++) {
			if (symbols[i].vaddr != 0 ||
			    !has_name(names, symbol.st_name, symbols[i].name))
				continue;
			symbols[i].vaddr = symbol.st_value;
			symbols[i].size = symbol.st_size;
		}
	}
}

static int find_in_section(const struct elf_file *elf, const char *section_name,
			   struct elf_symbol *symbols, size_t n_symbols)
{
	scoped(bytes_release) struct bytes table = BYTES_INIT(MAX_TABLE_BYTES);
	scoped(bytes_release) struct bytes names = BYTES_INIT(MAX_TABLE_BYTES);
	const struct elf_section *section = elf_file_section(elf, section_name);
	int r;

	if (!section || section->type == SHT_NOBITS || section->link >= elf->n_sections ||
	    elf->sections[section->link].type != SHT_STRTAB)
		return 0;
	r = elf_file_read_section(elf, section, &table);
	if (r == 0)
		r = elf_file_read_section(elf, &elf->sections[section->link], &names);
	if (r == 0)
		find_in_table(&table, &names, symbols, n_symbols);
	return r;
}

int elf_symbols_find(const struct elf_file *elf, struct elf_symbol *symbols, size_t n_symbols)
{
	bool has_all = true;
	int r;

	for (size_t i = 0; i < n_symbols; i++)
		symbols[i].vaddr = symbols[i].size = 0;
	r = find_in_section(elf, ".dynsym", symbols, n_symbols);
	for (size_t i = 0; i < n_symbols; i++)
		has_all &= symbols[i].vaddr != 0;
	if (r < 0 || has_all)
		return r;
	return find_in_section(elf, ".symtab", symbols, n_symbols);
}

static uint32_t word_at(const struct bytes *table, uint64_t offset)
{
	uint32_t word;

	memcpy(&word, table->data + offset, sizeof(word));
	return word;
}

/* The hash function of .gnu.hash. */
static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (uint8_t)*name;
	return hash;
}

/*
 * The section: number of buckets, index of the first symbol in the table, number of words of the
 * filter, shift; the filter; for each bucket the index of its first symbol; for each symbol its
 * hash, with bit 0 set in the last one of a bucket.
 */
static bool has_hash(const struct bytes *table, uint32_t hash)
{
	uint32_t head[4], first;
	uint64_t buckets_at, hashes_at, filter;

	if (table->size < sizeof(head))
		return false;
	memcpy(head, table->data, sizeof(head));
	buckets_at = sizeof(head) + (uint64_t)head[2] * sizeof(filter);
	hashes_at = buckets_at + (uint64_t)head[0] * sizeof(first);
	if (head[0] == 0 || head[2] == 0 || hashes_at > table->size)
		return false;
	memcpy(&filter, table->data + sizeof(head) + hash / 64 % head[2] * sizeof(filter),
	       sizeof(filter));
	if (!(filter >> (hash % 64) & filter >> ((hash >> (head[3] & 31)) % 64) & 1))
		return false;
	first = word_at(table, buckets_at + hash % head[0] * sizeof(first));
	if (first < head[1])
		return false;
	for (uint64_t at = hashes_at + (uint64_t)(first - head[1]) * sizeof(first);
	     at + sizeof(first) <= table->size; at += sizeof(first)) {
		if ((word_at(table, at) | 1) == (hash | 1))
			return true;
		if (word_at(table, at) & 1)
			return false;
	}
	return false;
}

int elf_symbol_is_exported(const struct elf_file *elf, const char *name)
{
	scoped(bytes_release) struct bytes table = BYTES_INIT(MAX_TABLE_BYTES);
	const struct elf_section *section = elf_file_section(elf, ".gnu.hash");
	int r;

	if (!section || section->type == SHT_NOBITS)
		return 0;
	r = elf_file_read_section(elf, section, &table);
	return r < 0 ? r : has_hash(&table, hash_of(name));
}

bool elf_read_data(const struct elf_file *elf, uint64_t vaddr, void *to, size_t size)
{
	for (size_t i = 0; i < elf->n_load_segments; i++) {
		const struct load_segment *segment = &elf->load_segments[i];
		const uint64_t offset = vaddr - segment->vaddr;

		if (vaddr >= segment->vaddr && offset < segment->file_size &&
		    segment->file_size - offset >= size)
			return pread_all(elf->fd, to, size, segment->file_offset + offset) == 0;
	}
	return false;
}
