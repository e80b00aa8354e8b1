/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header has the offsets of the parts of the table, relative to itself. functab has an entry
 * for each function: its address, and the offset of its record. The records are after it in the
 * same part, in the order of functions.
 */
#include "agent/unwind/go/go_pclntab.h"

#include <string.h>

/* kubelet, the largest known, has 12 MiB. */
#define MAX_PCTAB_BYTES (48 * MIB)

/* The largest known program has 300 thousand. */
#define MAX_FUNCTIONS (4u << 20)

#define WINDOW_BYTES ((size_t)(64 * KIB))

/* Size of each half of a functab entry, and offsets within a record. */
struct go_layout {
	uint8_t entry_bytes;
	uint8_t name, pcsp, flags;
};

static const struct go_layout layouts[] = {
	[GO_PCLNTAB_1_16] = { 8, 8, 20, 41 },
	[GO_PCLNTAB_1_18] = { 4, 4, 16, 37 },
	[GO_PCLNTAB_1_20] = { 4, 4, 16, 41 },
};

static uint32_t u32_at(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static uint64_t u64_at(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static int read_pctab(const struct byte_window *whole, uint64_t start, uint64_t end,
		      struct bytes *pctab)
{
	struct byte_window part;
	const uint8_t *content;
	size_t size;
	int r;

	if (start > end || end - start > MAX_PCTAB_BYTES)
		return -EBADMSG;
	size = (size_t)(end - start);
	r = byte_window_part(whole, start, size, size, &part);
	if (r < 0)
		return r;
	r = byte_window_get(&part, 0, size, &content);
	if (r == 0)
		r = bytes_append(pctab, content, size);
	byte_window_release(&part);
	return r;
}

static int open_parts(const struct byte_window *whole, const struct go_pclntab_header *header,
		      struct go_pclntab *table)
{
	int r;

	r = byte_window_part(whole, header->functions, UINT64_MAX, WINDOW_BYTES, &table->functions);
	if (r < 0)
		return r;
	r = byte_window_part(whole, header->functions, UINT64_MAX, WINDOW_BYTES, &table->records);
	if (r < 0)
		return r;
	r = byte_window_part(whole, header->names, UINT64_MAX, WINDOW_BYTES, &table->names);
	if (r < 0)
		return r;
	return read_pctab(whole, header->values, header->functions, &table->pctab);
}

int go_pclntab_open(const struct byte_window *whole, uint64_t text_start,
		    struct go_pclntab *ret_table)
{
	struct go_pclntab table = { .text_start = text_start,
				    .pctab = BYTES_INIT(MAX_PCTAB_BYTES) };
	struct go_pclntab_header header;
	struct byte_window start;
	const uint8_t *bytes;
	bool is_table = false;
	int r;

	r = byte_window_part(whole, 0, GO_PCLNTAB_HEADER_BYTES, GO_PCLNTAB_HEADER_BYTES, &start);
	if (r < 0)
		return r;
	r = byte_window_get(&start, 0, GO_PCLNTAB_HEADER_BYTES, &bytes);
	if (r == 0)
		is_table = go_pclntab_header_read(bytes, &header);
	byte_window_release(&start);
	if (r < 0)
		return r == -EBADMSG ? 0 : r;
	if (!is_table || header.n_functions > MAX_FUNCTIONS)
		return 0;
	table.n_functions = (uint32_t)header.n_functions;
	table.quantum = header.quantum;
	table.version = header.version;
	table.has_flags = header.version != GO_PCLNTAB_1_16;
	r = open_parts(whole, &header, &table);
	if (r < 0) {
		go_pclntab_release(&table);
		return r == -EBADMSG ? 0 : r;
	}
	*ret_table = table;
	return 1;
}

void go_pclntab_release(struct go_pclntab *table)
{
	byte_window_release(&table->functions);
	byte_window_release(&table->records);
	byte_window_release(&table->names);
	bytes_release(&table->pctab);
}

int go_pclntab_function(struct go_pclntab *table, uint32_t index, struct go_function *ret_function)
{
	const struct go_layout *layout = &layouts[table->version];
	uint8_t half = layout->entry_bytes;
	uint64_t start, record_offset;
	const uint8_t *bytes;
	int r;

	r = byte_window_get(&table->functions, (uint64_t)index * half * 2, half * 2, &bytes);
	if (r < 0)
		return r == -EBADMSG ? 0 : r;
	start = half == 4 ? table->text_start + u32_at(bytes) : u64_at(bytes);
	record_offset = half == 4 ? u32_at(bytes + half) : u64_at(bytes + half);
	r = byte_window_get(&table->records, record_offset, layout->flags + 1, &bytes);
	if (r < 0)
		return r == -EBADMSG ? 0 : r;
	*ret_function = (struct go_function){
		.start = start,
		.name_offset = u32_at(bytes + layout->name),
		.pcsp_offset = u32_at(bytes + layout->pcsp),
		.flags = bytes[layout->flags],
	};
	return 1;
}

int go_pclntab_name(struct go_pclntab *table, const struct go_function *function,
		    char ret_name[GO_NAME_SIZE])
{
	uint64_t left = table->names.size - MIN(table->names.size, (uint64_t)function->name_offset);
	size_t size = (size_t)MIN(left, (uint64_t)(GO_NAME_SIZE - 1));
	const uint8_t *bytes;
	int r;

	ret_name[0] = '\0';
	if (size == 0)
		return 0;
	r = byte_window_get(&table->names, function->name_offset, size, &bytes);
	if (r < 0)
		return r == -EBADMSG ? 0 : r;
	memcpy(ret_name, bytes, size);
	ret_name[size] = '\0';
	return 0;
}

struct go_pcsp go_pcsp_of(const struct go_pclntab *table, const struct go_function *function)
{
	struct bytes_view view = bytes_view_of(&table->pctab);

	/* Offset 0 means that there is no pcsp. */
	if (function->pcsp_offset == 0 || function->pcsp_offset >= view.size)
		view.size = 0;
	else
		view = (struct bytes_view){ view.data + function->pcsp_offset,
					    view.size - function->pcsp_offset };
	return (struct go_pcsp){
		.values = go_pc_values_of(view, table->quantum),
		.pc = function->start,
	};
}

bool go_pcsp_next(struct go_pcsp *pcsp, struct go_pcsp_row *ret_row)
{
	uint32_t length;

	if (!go_pc_values_next(&pcsp->values, &length))
		return false;
	*ret_row = (struct go_pcsp_row){
		.start = pcsp->pc,
		.end = pcsp->pc + length,
		.delta = pcsp->values.value,
	};
	pcsp->pc = ret_row->end;
	return true;
}
