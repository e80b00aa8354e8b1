/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Functions with equal values are sorted by the other value, then by name: the order is always the
 * same.
 */

#include <stdlib.h>

#include "common/json_writer.h"
#include "symbolizer/cli/print/colour.h"
#include "symbolizer/cli/print/number_format.h"
#include "symbolizer/cli/print/printable.h"
#include "symbolizer/cli/profile/flame_text.h"

/* "   12.3 ms  100.0 %", twice */
#define FIGURES_COLUMNS 44

static int compare_values(uint64_t a, uint64_t b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

static int compare_by_self(const void *a_ptr, const void *b_ptr)
{
	const struct call_function *a = *(const struct call_function *const *)a_ptr;
	const struct call_function *b = *(const struct call_function *const *)b_ptr;
	int order = compare_values(a->self, b->self);

	if (order == 0)
		order = compare_values(a->total, b->total);
	return order != 0 ? order : strcmp(a->name, b->name);
}

static int compare_by_total(const void *a_ptr, const void *b_ptr)
{
	const struct call_function *a = *(const struct call_function *const *)a_ptr;
	const struct call_function *b = *(const struct call_function *const *)b_ptr;
	int order = compare_values(a->total, b->total);

	return order != 0 ? order : compare_by_self(a_ptr, b_ptr);
}

static bool is_of_hosts(const struct call_tree *tree)
{
	return call_tree_function(tree, 0)->type == 'H';
}

/* A tree of whole hosts holds no functions: list its processes. */
static bool is_listed(const struct call_tree *tree, const struct call_function *function)
{
	if (function->total == 0)
		return false;
	if (is_of_hosts(tree))
		return function->type == 'P';
	return !strchr("HPT", function->type);
}

/*
 * Makes the sorted array of the table's rows; the caller frees it. Processes are always sorted by
 * total, because the self value of a process lacks its threads.
 */
static int list_functions(const struct call_tree *tree, const struct function_text_options *options,
			  const struct call_function ***ret_functions, uint32_t *ret_count)
{
	const struct call_function **functions = calloc(tree->n_functions + 1, sizeof(*functions));
	bool by_total = options->by_total || is_of_hosts(tree);
	uint32_t count = 0;

	if (!functions)
		return -ENOMEM;
	for (uint32_t i = 0; i < tree->n_functions; i++) {
		if (is_listed(tree, &tree->functions[i]))
			functions[count++] = &tree->functions[i];
	}
	qsort(functions, count, sizeof(*functions), by_total ? compare_by_total : compare_by_self);
	*ret_functions = functions;
	*ret_count = options->max_rows > 0 ? MIN(count, options->max_rows) : count;
	return 0;
}

static void append_function(struct bytes *out, const struct function_text_options *options,
			    const struct call_function *function, uint64_t whole)
{
	char self[NUMBER_TEXT_SIZE], self_share[NUMBER_TEXT_SIZE], total[NUMBER_TEXT_SIZE],
		total_share[NUMBER_TEXT_SIZE];

	format_value(options->type, function->self, self);
	format_share(function->self, whole, self_share);
	format_value(options->type, function->total, total);
	format_share(function->total, whole, total_share);
	(void)bytes_append_format(out, "%11s  %7s  %11s  %7s  ", self, self_share, total,
				  total_share);
	(void)bytes_append_text(out, options->colours ? colour_of_kind(function->type) : "");
	(void)printable_append(out, function->name, MAX(options->width - FIGURES_COLUMNS, 12));
	(void)bytes_append_text(out, options->colours ? COLOUR_RESET "\n" : "\n");
}

int function_text_write(const struct call_tree *tree, const struct function_text_options *options,
			struct bytes *out)
{
	scoped_free const struct call_function **functions = NULL;
	uint32_t count;
	int r;

	r = list_functions(tree, options, &functions, &count);
	if (r < 0)
		return r;
	(void)bytes_append_format(out, "%11s  %7s  %11s  %7s  %s\n", "self", "", "total", "",
				  is_of_hosts(tree) ? "process" : "function");
	for (uint32_t i = 0; i < count; i++)
		append_function(out, options, functions[i], tree->nodes[0].total);
	return bytes_error(out);
}

int function_json_write(const struct call_tree *tree, const struct function_text_options *options,
			struct bytes *out)
{
	scoped_free const struct call_function **functions = NULL;
	const char *unit = event_type_unit(options->type);
	struct json_writer json;
	uint32_t count;
	int r;

	r = list_functions(tree, options, &functions, &count);
	if (r < 0)
		return r;
	json_writer_init(&json, out);
	json_object_begin(&json);
	json_key_text(&json, "event", event_type_name(options->type));
	json_key_text(&json, "unit", strcmp(unit, "ns") == 0 ? "microseconds" : unit);
	json_key_uint(&json, "total", tree->nodes[0].total);
	json_key(&json, "functions");
	json_array_begin(&json);
	for (uint32_t i = 0; i < count; i++) {
		const char type[] = { functions[i]->type, '\0' };

		json_object_begin(&json);
		json_key_text(&json, "function", functions[i]->name);
		json_key_text(&json, "type", type);
		json_key_uint(&json, "self_value", functions[i]->self);
		json_key_uint(&json, "total_value", functions[i]->total);
		json_object_end(&json);
	}
	json_array_end(&json);
	json_object_end(&json);
	return bytes_append_byte(out, '\n');
}
