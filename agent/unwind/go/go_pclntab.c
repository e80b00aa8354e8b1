/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header has the offsets of the parts of the table, relative to itself. functab has an entry
 * for each function: its address, and the offset of its record. The records are behind it in the
 * same part, in the order of functions.
 */
#include "agent/unwind/go/go_pclntab.h"

#include "common/elf/dwarf_cursor.h"

/* kubelet, the largest known, has 12 MiB. */
#define MAX_PCTAB_BYTES (48 * MIB)

/* The largest known program has 300 thousand. */
#define MAX_FUNCTIONS (4u << 20)

#define WINDOW_BYTES ((size_t)(64 * KIB))

/* Offsets within header and record; 0: there is no such field. */
struct go_layout {
	uint32_t magic;
	uint8_t names, pctab, functions; /* in the header */
	uint8_t entry_bytes;             /* of each half of a functab entry */
	uint8_t name, pcsp, flags;       /* in the record */
};

static const struct go_layout layouts[] = {
	{ 0xfffffffa, 24, 48, 56, 8, 8, 20, 41 },
	{ 0xfffffff0, 32, 56, 64, 4, 4, 16, 37 },
	{ 0xfffffff1, 32, 56, 64, 4, 4, 16, 41 },
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

/*
 * The header begins with the magic number, two zeros, the size of the smallest instruction, and the
 * size of a pointer.
 */
static const struct go_layout *layout_of(const uint8_t *header)
{
	if (header[4] != 0 || header[5] != 0 || (header[6] != 1 && header[6] != 4) ||
	    header[7] != 8)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		if (layouts[i].magic == u32_at(header))
			return &layouts[i];
	return NULL;
}

bool go_pclntab_is_header(const uint8_t *bytes)
{
	return layout_of(bytes) != NULL;
}

bool go_pclntab_has_text_start(const uint8_t *bytes)
{
	const struct go_layout *layout = layout_of(bytes);

	return layout && layout->entry_bytes == 4;
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

static int open_parts(const struct byte_window *whole, const uint8_t *header,
		      struct go_pclntab *table)
{
	const struct go_layout *layout = table->layout;
	uint64_t names = u64_at(header + layout->names);
	uint64_t pctab = u64_at(header + layout->pctab);
	uint64_t functions = u64_at(header + layout->functions);
	int r;

	r = byte_window_part(whole, functions, UINT64_MAX, WINDOW_BYTES, &table->functions);
	if (r < 0)
		return r;
	r = byte_window_part(whole, functions, UINT64_MAX, WINDOW_BYTES, &table->records);
	if (r < 0)
		return r;
	r = byte_window_part(whole, names, UINT64_MAX, WINDOW_BYTES, &table->names);
	if (r < 0)
		return r;
	r = read_pctab(whole, pctab, functions, &table->pctab);
	return r;
}

int go_pclntab_open(const struct byte_window *whole, uint64_t text_start,
		    struct go_pclntab *ret_table)
{
	struct go_pclntab table = { .text_start = text_start,
				    .pctab = BYTES_INIT(MAX_PCTAB_BYTES) };
	uint8_t header[GO_PCLNTAB_HEADER_BYTES];
	struct byte_window start;
	const uint8_t *bytes;
	uint64_t n_functions;
	int r;

	r = byte_window_part(whole, 0, sizeof(header), sizeof(header), &start);
	if (r < 0)
		return r;
	r = byte_window_get(&start, 0, sizeof(header), &bytes);
	if (r == 0)
		memcpy(header, bytes, sizeof(header));
	byte_window_release(&start);
	if (r < 0)
		return r == -EBADMSG ? 0 : r;
	table.layout = layout_of(header);
	n_functions = u64_at(header + 8);
	if (!table.layout || n_functions > MAX_FUNCTIONS)
		return 0;
	table.n_functions = (uint32_t)n_functions;
	table.quantum = header[6];
	table.has_flags = table.layout->entry_bytes == 4;
	r = open_parts(whole, header, &table);
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
	const struct go_layout *layout = table->layout;
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
		.reader = bytes_reader_of(view),
		.pc = function->start,
		.delta = -1,
		.quantum = table->quantum,
	};
}

/*
 * Pairs of LEB128 numbers: the change of the delta (zigzag), and the length in instructions. A
 * change of 0 that is not the first one ends the list.
 */
bool go_pcsp_next(struct go_pcsp *pcsp, struct go_pcsp_row *ret_row)
{
	uint32_t change = (uint32_t)cursor_uleb(&pcsp->reader);
	uint32_t length;

	if (change == 0 && pcsp->has_begun)
		return false;
	length = (uint32_t)cursor_uleb(&pcsp->reader);
	if (pcsp->reader.error || length == 0 || length > UINT32_MAX / pcsp->quantum)
		return false;
	pcsp->has_begun = true;
	pcsp->delta = (int32_t)((uint32_t)pcsp->delta + (uint32_t)zigzag_decode(change));
	*ret_row = (struct go_pcsp_row){
		.start = pcsp->pc,
		.end = pcsp->pc + (uint64_t)length * pcsp->quantum,
		.delta = pcsp->delta,
	};
	pcsp->pc = ret_row->end;
	return true;
}
