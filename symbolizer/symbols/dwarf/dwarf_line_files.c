/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/dwarf/dwarf_line_files.h"

#include <dwarf.h>

#include "symbolizer/symbols/dwarf/source_path.h"

/* Folders, or files, of one table. */
#define LINE_ENTRIES_MAX (1u << 20)

/* Fields of one folder or file in DWARF 5. */
#define LINE_FORMATS_MAX 32

/*
 * Before DWARF 5: lists of strings that end with an empty one. Folder 0 and file 0 are the unit's.
 */
static int read_old_lists(struct line_table *table, const struct dwarf_unit *unit,
			  struct bytes_reader *cursor)
{
	int r = vec_push(&table->folders, unit->folder);
	const char *text;

	if (r == 0)
		r = vec_push(&table->files, (struct line_file){ .name = unit->name });
	while (r == 0 && (text = cursor_text(cursor)) && text[0] != '\0')
		r = vec_push(&table->folders, text);
	while (r == 0 && cursor->error == 0 && (text = cursor_text(cursor)) && text[0] != '\0') {
		struct line_file file = { .name = text, .folder = cursor_uleb(cursor) };

		cursor_skip_leb(cursor); /* time */
		cursor_skip_leb(cursor); /* size */
		r = vec_push(&table->files, file);
	}
	return r;
}

struct entry_format {
	uint16_t content;
	uint16_t form;
};

static unsigned int read_formats(struct bytes_reader *cursor,
				 struct entry_format formats[LINE_FORMATS_MAX])
{
	unsigned int count = cursor_u8(cursor);

	if (count > LINE_FORMATS_MAX)
		(void)cursor_fail(cursor);
	for (unsigned int i = 0; i < count && cursor->error == 0; i++) {
		formats[i].content = (uint16_t)cursor_uleb(cursor);
		formats[i].form = (uint16_t)cursor_uleb(cursor);
	}
	return count;
}

static void read_entry(const struct dwarf_unit *unit, struct bytes_reader *cursor,
		       const struct entry_format *formats, unsigned int count,
		       struct line_file *ret_file)
{
	*ret_file = (struct line_file){};
	for (unsigned int i = 0; i < count && cursor->error == 0; i++) {
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
			 struct bytes_reader *cursor, bool folders)
{
	struct entry_format formats[LINE_FORMATS_MAX];
	unsigned int n_formats = read_formats(cursor, formats);
	uint64_t count = cursor_uleb(cursor);
	int r = 0;

	if (count > LINE_ENTRIES_MAX || (n_formats == 0 && count > 0))
		(void)cursor_fail(cursor);
	for (uint64_t i = 0; i < count && r == 0 && cursor->error == 0; i++) {
		struct line_file file;

		read_entry(unit, cursor, formats, n_formats, &file);
		r = folders ? vec_push(&table->folders, file.name) : vec_push(&table->files, file);
	}
	return r;
}

static int read_lists(struct line_table *table, const struct dwarf_unit *unit,
		      struct bytes_reader *cursor)
{
	int r;

	if (table->version < 5)
		return read_old_lists(table, unit, cursor);
	r = read_new_list(table, unit, cursor, true);
	return r < 0 ? r : read_new_list(table, unit, cursor, false);
}

int line_program_header_read(struct line_program_header *header, struct line_table *table,
			     const struct dwarf_unit *unit, struct bytes_reader *cursor)
{
	struct dwarf_unit forms = *unit; /* the table may have another offset size than the unit */
	uint64_t length = cursor_unit_length(cursor, &forms.widths.offset_size);
	const uint8_t *program;
	uint64_t header_length;
	int r;

	if (cursor->error < 0)
		return 0;
	cursor->end = cursor->next + length;
	table->version = cursor_u16(cursor);
	if (table->version < 2 || table->version > 5)
		return 0;
	if (table->version >= 5)
		cursor_skip(cursor, 2); /* address_size, segment_selector_size */
	header_length = cursor_fixed(cursor, forms.widths.offset_size);
	if (cursor->error < 0 || header_length > cursor_left(cursor))
		return 0;
	program = cursor->next + header_length;

	header->min_instruction_bytes = cursor_u8(cursor);
	if (table->version >= 4)
		cursor_skip(cursor, 1); /* maximum_operations_per_instruction: 1, except for VLIW */
	cursor_skip(cursor, 1);         /* default_is_stmt */
	header->line_base = (int8_t)cursor_u8(cursor);
	header->line_range = cursor_u8(cursor);
	header->opcode_base = cursor_u8(cursor);
	for (unsigned int i = 1; i < header->opcode_base; i++)
		header->operands[i] = cursor_u8(cursor);
	if (cursor->error < 0 || header->line_range == 0 || header->opcode_base == 0)
		return 0;
	r = read_lists(table, &forms, cursor);
	cursor->error = 0;
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
		/* Folder 0 is the unit's folder, which has been appended above. */
		if (r == 0 && folder && (has_root || entry->folder > 0))
			r = source_path_append(out, folder);
	}
	if (r == 0)
		r = source_path_append(out, entry->name);
	return r < 0 ? r : 1;
}
