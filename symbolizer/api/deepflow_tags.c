/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The type of a tag tells the plugin how to write conditions. A tag of DeepFlow's type "resource"
 * would be compared by an ID, which no tag has here: names are "string_enum". The plugin writes the
 * names of "map_item" in backticks, which those of labels may need.
 */

#include "symbolizer/api/deepflow_tags.h"

#include <stdio.h>
#include <string.h>

#include "symbolizer/query/filter/tags.def"
#include "symbolizer/query/filter/tags.h"
#include "symbolizer/query/labels.h"

/* The type of each tag, by the source of its values. NULL: the tag is not listed. */
#define TYPE_SERVICE      "string_enum"
#define TYPE_PID          "int"
#define TYPE_THREAD       "string_enum"
#define TYPE_TID          "int"
#define TYPE_CPU          "int"
#define TYPE_HOST         "string_enum"
#define TYPE_IP           "ip"
#define TYPE_AGENT        "string_enum"
#define TYPE_KERNEL       "string_enum"
#define TYPE_ARCHITECTURE "string_enum"
/* The plugin offers the types of events only if this is their type. */
#define TYPE_EVENT_TYPE "string"
#define TYPE_LANGUAGE   "string_enum"
#define TYPE_UNIT       "string_enum"
#define TYPE_LABEL      "string_enum"
#define TYPE_FOREIGN    NULL

static const struct tag_row {
	const char *name, *type, *help;
} tag_rows[] = {
#define X(name, source, help) { name, TYPE_##source, help },
	TAGS(X)
#undef X
};

/* Names of labels in one answer. */
#define MAX_LABELS 1000

void deepflow_table_begin(struct json_writer *json, const char *const *columns, size_t n_columns)
{
	json_object_begin(json);
	json_key(json, "columns");
	json_array_begin(json);
	for (size_t i = 0; i < n_columns; i++)
		json_text(json, columns[i]);
	json_array_end(json);
	json_key(json, "values");
	json_array_begin(json);
}

void deepflow_table_end(struct json_writer *json)
{
	json_array_end(json);
	json_key(json, "schemas");
	json_array_begin(json);
	json_array_end(json);
	json_object_end(json);
}

void deepflow_write_value(struct json_writer *json, const char *value)
{
	json_array_begin(json);
	json_text(json, value);
	json_text(json, value);
	json_array_end(json);
}

static void write_texts(struct json_writer *json, const char *const *texts, size_t count)
{
	json_array_begin(json);
	for (size_t i = 0; i < count; i++)
		json_text(json, texts[i]);
	json_array_end(json);
}

static void write_operators(struct json_writer *json, const char *type)
{
	static const char *const of_texts[] = { "=",    "!=",       "IN",     "NOT IN",
						"LIKE", "NOT LIKE", "REGEXP", "NOT REGEXP" };
	static const char *const of_numbers[] = { "=", "!=", "IN", "NOT IN", ">=", "<=", ">", "<" };

	if (strcmp(type, "int") == 0 || strcmp(type, "ip") == 0)
		write_texts(json, of_numbers, ARRAY_SIZE(of_numbers));
	else
		write_texts(json, of_texts, ARRAY_SIZE(of_texts));
}

static const char *const tag_columns[] = {
	"name",
	"client_name",
	"server_name",
	"display_name",
	"display_name_zh",
	"display_name_en",
	"type",
	"category",
	"operators",
	"permissions",
	"description",
	"description_zh",
	"description_en",
	"related_tag",
	"deprecated",
	"not_supported_operators",
	"table",
};

static void write_tag(struct json_writer *json, const char *name, const char *type,
		      const char *category, const char *help)
{
	json_array_begin(json);
	/* The columns from name to display_name_en all have the name. */
	for (unsigned int i = 0; i < 6; i++)
		json_text(json, name);
	json_text(json, type);
	json_text(json, category);
	write_operators(json, type);
	json_array_begin(json);
	for (unsigned int i = 0; i < 3; i++)
		json_bool(json, true);
	json_array_end(json);
	for (unsigned int i = 0; i < 3; i++)
		json_text(json, help);
	json_text(json, "");
	json_bool(json, false);
	write_texts(json, NULL, 0);
	json_text(json, "");
	json_array_end(json);
}

static bool is_listed(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tag_rows); i++)
		if (tag_rows[i].type && strcmp(tag_rows[i].name, name) == 0)
			return true;
	return false;
}

/* An answer and the names of labels that it has. */
struct label_writer {
	struct json_writer *json;
	const char **names; /* [MAX_LABELS] */
	size_t n_names;
};

static void write_label(struct label_writer *writer, const char *name, const char *help)
{
	if (is_listed(name) || writer->n_names == MAX_LABELS)
		return;
	for (size_t i = 0; i < writer->n_names; i++)
		if (strcmp(writer->names[i], name) == 0)
			return;
	writer->names[writer->n_names++] = name;
	write_tag(writer->json, name, "map_item", "Label", help);
}

static void write_host_labels(struct label_writer *writer, const struct store_host *host)
{
	for (size_t i = 0; i < host->n_labels; i++)
		write_label(writer, host->labels[i].name, "label of the host");
}

int deepflow_write_tags(struct deepflow_call *call, struct json_writer *json)
{
	struct label_writer writer = { .json = json };
	const char **labels;
	struct store_host *hosts;
	size_t n_labels = 0, n_hosts = 0;
	int r = store_list_label_names(call->view, "", MAX_LABELS, call->arena, &labels, &n_labels);

	/* An engine that cannot list label names offers none; users can still type them. */
	if (r == 0 || r == -EOPNOTSUPP)
		r = store_list_hosts(call->view, call->arena, &hosts, &n_hosts);
	if (r < 0)
		return r;
	writer.names = arena_alloc_array(call->arena, MAX_LABELS, sizeof(*writer.names));
	if (!writer.names)
		return -ENOMEM;
	deepflow_table_begin(json, tag_columns, ARRAY_SIZE(tag_columns));
	for (size_t i = 0; i < ARRAY_SIZE(tag_rows); i++)
		if (tag_rows[i].type)
			write_tag(json, tag_rows[i].name, tag_rows[i].type, "Tag",
				  tag_rows[i].help);
	for (size_t i = 0; i < n_labels; i++)
		write_label(&writer, labels[i], "label of the process");
	for (size_t i = 0; i < n_hosts; i++)
		write_host_labels(&writer, &hosts[i]);
	deepflow_table_end(json);
	return 0;
}

static int check_tag(struct deepflow_call *call, const char *tag)
{
	struct tag_names names = { .view = call->view, .arena = call->arena };
	char known[PROFILE_MESSAGE_SIZE / 2];

	if (tag_is_known(&names, tag))
		return 0;
	if (names.error < 0)
		return names.error;
	tag_names_print(&names, known, sizeof(known));
	(void)snprintf(call->message, sizeof(call->message), "sql: '%.100s' is no tag (known: %s)",
		       tag, known);
	return -EINVAL;
}

/* The combinations of values of @tags, none if the range of time is empty. */
static int list_values(struct deepflow_call *call, const char *const *tags, size_t n_tags,
		       struct label_combination **ret_items, size_t *ret_count)
{
	for (size_t i = 0; i < n_tags; i++) {
		int r = check_tag(call, tags[i]);

		if (r < 0)
			return r;
	}
	*ret_count = 0;
	if (deepflow_range_is_empty(call))
		return 0;
	return labels_list_values(call->view, &call->profile, tags, n_tags, call->arena, ret_items,
				  ret_count, call->message);
}

/* Returns whether LIMIT has the row at this position. */
static bool has_row(const struct deepflow_statement *statement, uint64_t position)
{
	return position >= statement->skip && position - statement->skip < statement->count;
}

static void write_combination(const struct deepflow_statement *statement, const char *const *values,
			      struct json_writer *json)
{
	json_array_begin(json);
	for (size_t i = 0; i < statement->n_columns; i++) {
		const char *value = values[statement->columns[i].group];

		json_text(json, value ? value : "");
	}
	json_array_end(json);
}

int deepflow_write_selection(struct deepflow_call *call, const struct deepflow_statement *statement,
			     struct json_writer *json)
{
	const char *columns[DEEPFLOW_MAX_COLUMNS];
	struct label_combination *items;
	size_t count;
	int r = list_values(call, statement->groups, statement->n_groups, &items, &count);

	if (r < 0)
		return r;
	for (size_t i = 0; i < statement->n_columns; i++)
		columns[i] = statement->columns[i].name;
	deepflow_table_begin(json, columns, statement->n_columns);
	for (size_t i = 0; i < count; i++)
		if (has_row(statement, i))
			write_combination(statement, items[i].values, json);
	deepflow_table_end(json);
	return bytes_error(json->out);
}

int deepflow_write_tag_values(struct deepflow_call *call,
			      const struct deepflow_statement *statement, struct json_writer *json)
{
	static const char *const columns[] = { "value", "display_name" };
	struct label_combination *items;
	uint64_t position = 0;
	size_t count;
	int r = list_values(call, &statement->tag, 1, &items, &count);

	if (r < 0)
		return r;
	deepflow_table_begin(json, columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < count; i++) {
		if (!items[i].values[0])
			continue;
		if (has_row(statement, position))
			deepflow_write_value(json, items[i].values[0]);
		position++;
	}
	deepflow_table_end(json);
	return bytes_error(json->out);
}
