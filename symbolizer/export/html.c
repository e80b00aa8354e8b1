/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html: the web page and the answer of GET /v1/flame in one file. Values are in the unit of answers
 * (microseconds), as the page expects.
 */

#include <stddef.h>
#include <string.h>

#include "common/json_writer.h"
#include "symbolizer/export/export.h"
#include "symbolizer/flame/node_list.h"
#include "symbolizer/ui/offline_page.h"

/* The figures that the page shows, by the names of their headers: X(field, name, is a value). */
/* clang-format off */
#define FIGURES(X)                                                                                 \
	X(covered_s, "covered-s", false)                                                           \
	X(n_nodes_pruned, "nodes-pruned", false)                                                   \
	X(value_cut, "cut", true)                                                                  \
	X(value_unsymbolized, "unsymbolized", true)                                                \
	X(unsymbolized_no_debuginfo, "unsymbolized-no-debuginfo", true)                            \
	X(unsymbolized_stripped, "unsymbolized-stripped", true)                                    \
	X(unsymbolized_outside, "unsymbolized-outside", true)                                      \
	X(unsymbolized_pending, "unsymbolized-pending", true)                                      \
	X(unsymbolized_table_failed, "unsymbolized-table-failed", true)                            \
	X(unsymbolized_no_mapping, "unsymbolized-no-mapping", true)
/* clang-format on */

static void write_figures(struct json_writer *json, const struct profile_stats *stats,
			  uint64_t divisor)
{
	json_object_begin(json);
#define X(field, name, is_value)                                                                   \
	json_key_uint(json, name, (is_value) ? stats->field / divisor : stats->field);
	FIGURES(X)
#undef X
	json_object_end(json);
}

static bool is_memory_type(const struct event_type_info *event)
{
	return event->type == EVENT_MEM_ALLOC || event->type == EVENT_MEM_INUSE ||
	       event->type == EVENT_HBM_ALLOC || event->type == EVENT_HBM_INUSE;
}

static int write_answer(const struct export_tree *input, struct bytes *out)
{
	const struct export_selection *selection = input->selection;
	const uint64_t divisor = event_unit_divisor(selection->event->unit);
	struct json_writer json;
	int r;

	json_writer_init(&json, out);
	json_object_begin(&json);
	json_key(&json, "result");
	r = node_columns_write(input->tree, divisor, is_memory_type(selection->event), &json);
	if (r < 0)
		return r;
	json_key_text(&json, "service", tree_label(input->tree, 0));
	json_key_text(&json, "event", selection->event->name);
	json_key_text(&json, "filter", selection->filter ? selection->filter : "");
	json_key_uint(&json, "since", selection->since_wall_ns / NSEC_PER_SEC);
	json_key_uint(&json, "until", selection->until_wall_ns / NSEC_PER_SEC);
	json_key_text(&json, "message", input->result->message);
	json_key(&json, "stats");
	write_figures(&json, input->result->stats, divisor);
	json_object_end(&json);
	return bytes_error(out);
}

/* Appends JSON so that no text in it ends the element of the page that contains it. Only texts can
 * have a '<'. */
static int append_without_tags(struct bytes *out, struct bytes_view json)
{
	const uint8_t *next = json.data, *end = json.data + json.size;

	while (next < end) {
		const uint8_t *tag = memchr(next, '<', (size_t)(end - next));
		const uint8_t *stop = tag ? tag : end;

		(void)bytes_append(out, next, (size_t)(stop - next));
		if (tag)
			(void)bytes_append_text(out, "\\u003c");
		next = tag ? tag + 1 : end;
	}
	return bytes_error(out);
}

static int html_write_tree(const struct export_tree *input, struct bytes *out)
{
	scoped(bytes_release) struct bytes answer = BYTES_INIT(out->ceiling);
	const struct offline_page page = offline_page_get();
	int r;

	answer.budget = out->budget;
	r = write_answer(input, &answer);
	if (r < 0)
		return r;
	(void)bytes_append(out, page.head.data, page.head.size);
	(void)append_without_tags(out, bytes_view_of(&answer));
	return bytes_append(out, page.tail.data, page.tail.size);
}

const struct export_writer export_html = { .write_tree = html_write_tree, .rounded = true };
