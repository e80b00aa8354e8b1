/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/dwarf/dwarf_line_files.h"

#include <dwarf.h>

#include "symbolizer/symbols/dwarf/source_path.h"

/* Folders and files of one table, and kinds of content of one entry. */
#define LINE_ENTRIES_MAX (1u << 20)
#define LINE_FORMATS_MAX 32

/* Until DWARF 5: texts until an empty one; folder 0 and file 0 are the unit's own. */
static int read_old_lists(struct line_table *table, const struct dwarf_unit *unit,
			  struct dwarf_cursor *cursor)
{
	int r = vec_push(&table->folders, unit->folder);
	const char *text;

	if (r == 0)
		r = vec_push(&table->files, (struct line_file){ .name = unit->name });
	while (r == 0 && (text = dwarf_text(cursor)) && text[0] != '\0')
		r = vec_push(&table->folders, text);
	while (r == 0 && !cursor->failed && (text = dwarf_text(cursor)) && text[0] != '\0') {
		struct line_file file = { .name = text, .folder = dwarf_uleb(cursor) };

		dwarf_skip_leb(cursor); /* time */
		dwarf_skip_leb(cursor); /* size */
		r = vec_push(&table->files, file);
	}
	return r;
}

struct entry_format {
	uint16_t content;
	uint16_t form;
};

static unsigned int read_formats(struct dwarf_cursor *cursor,
				 struct entry_format formats[LINE_FORMATS_MAX])
{
	unsigned int count = dwarf_u8(cursor);

	if (count > LINE_FORMATS_MAX)
		dwarf_fail(cursor);
	for (unsigned int i = 0; i < count && !cursor->failed; i++) {
		formats[i].content = (uint16_t)dwarf_uleb(cursor);
		formats[i].form = (uint16_t)dwarf_uleb(cursor);
	}
	return count;
}

static void read_entry(const struct dwarf_unit *unit, struct dwarf_cursor *cursor,
		       const struct entry_format *formats, unsigned int count,
		       struct line_file *ret_file)
{
	*ret_file = (struct line_file){};
	for (unsigned int i = 0; i < count && !cursor->failed; i++) {
		struct dwarf_spec spec = { .form = formats[i].form };
		struct dwarf_value value;

		dwarf_value_read(unit, cursor, &spec, &value);
		if (formats[i].content == DW_LNCT_path)
			ret_file->name = dwarf_value_text(unit, &value);
		else if (formats[i].content == DW_LNCT_directory_index)
			ret_file->folder = value.number;
	}
}

static int read_new_list(struct line_table *table, const struct dwarf_unit *unit,
			 struct dwarf_cursor *cursor, bool folders)
{
	struct entry_format formats[LINE_FORMATS_MAX];
	unsigned int n_formats = read_formats(cursor, formats);
	uint64_t count = dwarf_uleb(cursor);
	int r = 0;

	if (count > LINE_ENTRIES_MAX || (n_formats == 0 && count > 0))
		dwarf_fail(cursor);
	for (uint64_t i = 0; i < count && r == 0 && !cursor->failed; i++) {
		struct line_file file;

		read_entry(unit, cursor, formats, n_formats, &file);
		r = folders ? vec_push(&table->folders, file.name) : vec_push(&table->files, file);
	}
	return r;
}

static int read_lists(struct line_table *table, const struct dwarf_unit *unit,
		      struct dwarf_cursor *cursor)
{
	int r;

	if (table->version < 5)
		return read_old_lists(table, unit, cursor);
	r = read_new_list(table, unit, cursor, true);
	return r < 0 ? r : read_new_list(table, unit, cursor, false);
}

int line_program_header_read(struct line_program_header *header, struct line_table *table,
			     const struct dwarf_unit *unit, struct dwarf_cursor *cursor)
{
	struct dwarf_unit forms = *unit; /* the table may be of another width than the unit */
	uint64_t length = dwarf_length(cursor, &forms.widths.offset_size);
	const uint8_t *program;
	uint64_t header_length;
	int r;

	if (cursor->failed)
		return 0;
	cursor->end = cursor->next + length;
	table->version = dwarf_u16(cursor);
	if (table->version < 2 || table->version > 5)
		return 0;
	if (table->version >= 5)
		dwarf_skip(cursor, 2); /* sizes of addresses and of segments */
	header_length = dwarf_fixed(cursor, forms.widths.offset_size);
	if (cursor->failed || header_length > dwarf_left(cursor))
		return 0;
	program = cursor->next + header_length;

	header->min_instruction_bytes = dwarf_u8(cursor);
	if (table->version >= 4)
		dwarf_skip(cursor, 1); /* operations of one instruction: 1 but on VLIW machines */
	dwarf_skip(cursor, 1);         /* default_is_stmt */
	header->line_base = (int8_t)dwarf_u8(cursor);
	header->line_range = dwarf_u8(cursor);
	header->opcode_base = dwarf_u8(cursor);
	for (unsigned int i = 1; i < header->opcode_base; i++)
		header->operands[i] = dwarf_u8(cursor);
	if (cursor->failed || header->line_range == 0 || header->opcode_base == 0)
		return 0;
	r = read_lists(table, &forms, cursor);
	cursor->failed = false;
	cursor->next = program;
	return r < 0 ? r : 1;
}

int line_table_path(const struct line_table *table, const struct dwarf_unit *unit, uint64_t file,
		    struct bytes *out)
{
	const char *folder = NULL;
	const struct line_file *entry;
	int r = 0;

	if (file >= table->files.count || !table->files.items[file].name)
		return 0;
	entry = &table->files.items[file];
	if (entry->folder < table->folders.count)
		folder = table->folders.items[entry->folder];
	if (entry->name[0] != '/') {
		bool has_root = folder && folder[0] == '/';

		if (!has_root && unit->folder)
			r = source_path_append(out, unit->folder);
		/* Folder 0 is the unit's own, already there. */
		if (r == 0 && folder && (has_root || entry->folder > 0))
			r = source_path_append(out, folder);
	}
	if (r == 0)
		r = source_path_append(out, entry->name);
	return r < 0 ? r : 1;
}
