/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csv: the functions with self and total, by RFC 4180. A spreadsheet takes a cell that begins with
 * one of "=+-@" as a formula, and names of functions come from uploaded files: such a cell gets an
 * apostrophe, which spreadsheets do not show.
 */

#include <inttypes.h>
#include <string.h>

#include "symbolizer/export/frame_text.h"
#include "symbolizer/query/top.h"

/* 32 bytes per function; a tree has at most eight million nodes. */
#define ARENA_BYTES (512 * MIB)

static void append_text(struct bytes *out, const char *text)
{
	(void)bytes_append_byte(out, '"');
	if (text[0] && strchr("=+-@", text[0]))
		(void)bytes_append_byte(out, '\'');
	for (const char *quote; (quote = strchr(text, '"')); text = quote + 1) {
		(void)bytes_append(out, text, (size_t)(quote - text));
		(void)bytes_append_text(out, "\"\"");
	}
	(void)bytes_append_text(out, text);
	(void)bytes_append_byte(out, '"');
}

static double share_of(uint64_t part, uint64_t whole)
{
	return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

static void append_row(struct bytes *out, const struct top_row *row, uint64_t whole)
{
	append_text(out, row->label);
	(void)bytes_append_format(out, ",%c,%" PRIu64 ",%" PRIu64 ",%.4f,%.4f\r\n", row->type,
				  row->self, row->total, share_of(row->self, whole),
				  share_of(row->total, whole));
}

static int csv_write_tree(const struct export_tree *input, struct bytes *out)
{
	scoped(arena_freep) struct arena *arena = NULL;
	struct top_row *rows;
	uint32_t n_nodes;
	size_t count;
	int r;

	r = arena_new_in(ARENA_BYTES, out->budget, &arena);
	if (r == 0)
		r = top_make(input->tree, top_is_of_hosts(input->tree) ? TOP_BY_TOTAL : TOP_BY_SELF,
			     arena, &rows, &count);
	if (r < 0)
		return r;
	(void)bytes_append_format(out, "%s,type,self_%s,total_%s,self_percent,total_percent\r\n",
				  top_is_of_hosts(input->tree) ? "process" : "function",
				  export_unit_name(input->selection->event),
				  export_unit_name(input->selection->event));
	for (size_t i = 0; i < count && bytes_error(out) == 0; i++)
		append_row(out, &rows[i], tree_nodes(input->tree, &n_nodes)[0].total);
	return bytes_error(out);
}

const struct export_writer export_csv = { .write_tree = csv_write_tree };
