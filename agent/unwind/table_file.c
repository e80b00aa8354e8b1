/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/table_file.h"

#include <stdlib.h>

#include "agent/unwind/unwind_rule.h"

/*
 * The checksum tells a disk's damage and a write that was cut short. Sound contents are checked as well: a lookup
 * trusts the order of pages and the numbers of rules.
 */

#define MAGIC "HUNWIND2"

struct file_header {
	char magic[8];
	uint64_t checksum; /* XXH3-64 of everything behind this field */
	struct hash128 key;
	uint64_t base_address;
	uint32_t n_rows;
	uint32_t n_pages;
	uint32_t n_rules;
	uint32_t zero;
};

#define CHECKED_FROM offsetof(struct file_header, key)

static_assert(sizeof(struct file_header) == TABLE_FILE_HEADER_BYTES, "no padding on disk");

static size_t rows_bytes(const struct unwind_table *table)
{
	return table->n_rows * sizeof(*table->rows);
}

static size_t rules_bytes(const struct unwind_table *table)
{
	return table->n_rules * sizeof(*table->rules);
}

static size_t pages_bytes(const struct unwind_table *table)
{
	return ((size_t)table->n_pages + 1) * sizeof(*table->page_first);
}

int table_file_encode(const struct unwind_table *table, const struct hash128 *key, struct bytes *out)
{
	size_t start = out->size;
	struct file_header header = {
		.key = *key,
		.base_address = table->base_address,
		.n_rows = table->n_rows,
		.n_pages = table->n_pages,
		.n_rules = table->n_rules,
	};

	memcpy(header.magic, MAGIC, sizeof(header.magic));
	(void)bytes_append(out, &header, sizeof(header));
	(void)bytes_append(out, table->rows, rows_bytes(table));
	(void)bytes_append(out, table->rules, rules_bytes(table));
	(void)bytes_append(out, table->page_first, pages_bytes(table));
	if (bytes_error(out) < 0)
		return bytes_error(out);
	header.checksum = hash64_of(out->data + start + CHECKED_FROM, out->size - start - CHECKED_FROM);
	memcpy(out->data + start, &header, sizeof(header));
	return 0;
}

/* Counts first: nothing is allocated by a number that the file's size does not bear out. */
static bool header_is_sound(const struct file_header *header, struct bytes_view file, const struct hash128 *key)
{
	struct unwind_table counts = {
		.n_rows = header->n_rows, .n_pages = header->n_pages, .n_rules = header->n_rules
	};

	if (memcmp(header->magic, MAGIC, sizeof(header->magic)) != 0 || memcmp(&header->key, key, sizeof(*key)) != 0)
		return false;
	if (header->n_rows == 0 || header->n_rows > UNWIND_MAX_ROWS || header->n_rules > UNWIND_MAX_RULES ||
	    header->n_pages == 0 || header->n_pages > UNWIND_MAX_ROWS)
		return false;
	if (sizeof(*header) + rows_bytes(&counts) + rules_bytes(&counts) + pages_bytes(&counts) != file.size)
		return false;
	return hash64_of(file.data + CHECKED_FROM, file.size - CHECKED_FROM) == header->checksum;
}

/* Pages in order, each with a row at its start; no rule that is not there. */
static bool contents_are_sound(const struct unwind_table *table)
{
	if (table->page_first[0] != 0 || table->page_first[table->n_pages] != table->n_rows)
		return false;
	for (uint32_t page = 0; page < table->n_pages; page++)
		if (table->page_first[page] >= table->page_first[page + 1])
			return false;
	for (uint32_t row = 0; row < table->n_rows; row++)
		if (table->rows[row].rule >= table->n_rules)
			return false;
	return true;
}

static void *copy_of(struct bytes_reader *reader, size_t size)
{
	void *copy = malloc(size);

	if (copy)
		memcpy(copy, reader->next, size);
	reader->next += size;
	return copy;
}

int table_file_decode(struct bytes_view file, const struct hash128 *key, struct unwind_table *ret_table)
{
	struct bytes_reader reader = bytes_reader_of(file);
	struct unwind_table table = {};
	struct file_header header;

	if (file.size < sizeof(header))
		return -EBADMSG;
	memcpy(&header, file.data, sizeof(header));
	if (!header_is_sound(&header, file, key))
		return -EBADMSG;
	table.base_address = header.base_address;
	table.n_rows = header.n_rows;
	table.n_pages = header.n_pages;
	table.n_rules = header.n_rules;
	reader.next += sizeof(header);
	table.rows = copy_of(&reader, rows_bytes(&table));
	table.rules = copy_of(&reader, rules_bytes(&table));
	table.page_first = copy_of(&reader, pages_bytes(&table));
	if (!table.rows || !table.rules || !table.page_first || !contents_are_sound(&table)) {
		int r = table.rows && table.rules && table.page_first ? -EBADMSG : -ENOMEM;

		unwind_table_release(&table);
		return r;
	}
	*ret_table = table;
	return 0;
}
