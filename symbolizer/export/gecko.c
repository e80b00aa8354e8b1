/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gecko: the processed profile format of the Firefox Profiler, version 47, which later versions of
 * the viewer convert. It has one thread with a weighted sample for each different stack. Tables are
 * written column by column. Frame i has function i, because frames have no addresses.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_writer.h"
#include "common/string_table.h"
#include "symbolizer/export/merged_stacks.h"

#define PROCESSED_VERSION 47
#define GECKO_VERSION     24

#define MAX_TEXT_BYTES (512 * MIB)

/* The categories of frames, by the types of functions. The first is for all other types. */
static const struct {
	char type;
	const char *name, *colour;
} categories[] = {
	{ '?', "Unresolved", "grey" },  { 'A', "Application", "orange" },
	{ 'L', "Library", "green" },    { 'K', "Kernel", "purple" },
	{ 'C', "CUDA", "yellow" },      { 'P', "Process", "lightblue" },
	{ 'T', "Thread", "lightblue" },
};

struct gecko_function {
	string_id name;
	string_id file; /* 0: none */
	uint8_t category;
};

VEC_DEFINE(gecko_function_vec, struct gecko_function);

struct gecko_writer {
	const struct export_selection *selection;
	struct merged_stacks merged;
	struct string_table *texts;
	struct gecko_function_vec functions;
	struct json_writer json;
};

static void gecko_free(void *arg)
{
	struct gecko_writer *writer = arg;

	if (!writer)
		return;
	merged_stacks_release(&writer->merged);
	string_table_free(writer->texts);
	vec_release(&writer->functions);
	free(writer);
}

static int gecko_begin(const struct export_selection *selection, struct bytes *out,
		       void **ret_writer)
{
	struct gecko_writer *writer = calloc(1, sizeof(*writer));
	int r;

	if (!writer)
		return -ENOMEM;
	writer->selection = selection;
	json_writer_init(&writer->json, out);
	r = merged_stacks_init(&writer->merged, out->budget);
	if (r == 0)
		r = string_table_new(MAX_TEXT_BYTES, &writer->texts);
	if (r < 0)
		gecko_free(writer);
	else
		*ret_writer = writer;
	return r;
}

static uint8_t category_of(char type)
{
	for (size_t i = 0; i < ARRAY_SIZE(categories); i++)
		if (categories[i].type == type)
			return (uint8_t)i;
	return 0;
}

static int add_function(void *arg, const struct resolved_stacks *stacks,
			const struct resolved_frame *frame)
{
	const char *name = resolved_label(stacks, frame), *file = frame_text_source(stacks, frame);
	struct gecko_function function = { .category = category_of(frame->type) };
	struct gecko_writer *writer = arg;
	int r;

	r = string_table_intern(writer->texts, name, strlen(name), &function.name);
	if (r == 0)
		r = string_table_intern(writer->texts, file, strlen(file), &function.file);
	if (r < 0)
		return r == -ENOSPC ? -EFBIG : r;
	return vec_push(&writer->functions, function);
}

static int gecko_add(void *arg, const struct resolved_stacks *stacks,
		     const struct resolved_stack *stack)
{
	struct gecko_writer *writer = arg;

	return merged_stacks_add(&writer->merged, stacks, stack, add_function, writer);
}

/* Writes a column of @count equal values. */
static void write_constant(struct json_writer *json, const char *key, size_t count,
			   const char *value)
{
	const struct bytes_view raw = { (const uint8_t *)value, strlen(value) };

	json_key(json, key);
	json_array_begin(json);
	for (size_t i = 0; i < count && bytes_error(json->out) == 0; i++)
		json_raw(json, raw);
	json_array_end(json);
}

/* Writes empty columns, and the length 0. */
static void write_empty_table(struct json_writer *json, const char *name,
			      const char *const *columns, size_t n_columns)
{
	json_key(json, name);
	json_object_begin(json);
	for (size_t i = 0; i < n_columns; i++)
		write_constant(json, columns[i], 0, "");
	json_key_uint(json, "length", 0);
	json_object_end(json);
}

static uint64_t category_of_function(const struct gecko_function *function)
{
	return function->category;
}

static uint64_t name_of_function(const struct gecko_function *function)
{
	return function->name;
}

/* Writes a column with a number of each function. */
static void write_functions(struct gecko_writer *writer, const char *key,
			    uint64_t (*number)(const struct gecko_function *function))
{
	json_key(&writer->json, key);
	json_array_begin(&writer->json);
	for (size_t i = 0; i < writer->functions.count; i++)
		json_uint(&writer->json, number(&writer->functions.items[i]));
	json_array_end(&writer->json);
}

/* Writes the column 0, 1, 2, ... */
static void write_indexes(struct json_writer *json, const char *key, size_t count)
{
	json_key(json, key);
	json_array_begin(json);
	for (size_t i = 0; i < count; i++)
		json_uint(json, i);
	json_array_end(json);
}

static void write_frame_table(struct gecko_writer *writer)
{
	struct json_writer *json = &writer->json;
	const size_t n = writer->functions.count;

	json_key(json, "frameTable");
	json_object_begin(json);
	write_constant(json, "address", n, "-1");
	write_constant(json, "inlineDepth", n, "0");
	write_functions(writer, "category", category_of_function);
	write_constant(json, "subcategory", n, "0");
	write_indexes(json, "func", n);
	write_constant(json, "nativeSymbol", n, "null");
	write_constant(json, "innerWindowID", n, "null");
	write_constant(json, "implementation", n, "null");
	write_constant(json, "line", n, "null");
	write_constant(json, "column", n, "null");
	json_key_uint(json, "length", n);
	json_object_end(json);
}

static void write_files(struct gecko_writer *writer)
{
	struct json_writer *json = &writer->json;

	json_key(json, "fileName");
	json_array_begin(json);
	for (size_t i = 0; i < writer->functions.count; i++) {
		if (writer->functions.items[i].file != 0)
			json_uint(json, writer->functions.items[i].file);
		else
			json_null_value(json);
	}
	json_array_end(json);
}

static void write_func_table(struct gecko_writer *writer)
{
	struct json_writer *json = &writer->json;
	const size_t n = writer->functions.count;

	json_key(json, "funcTable");
	json_object_begin(json);
	write_constant(json, "isJS", n, "false");
	write_constant(json, "relevantForJS", n, "false");
	write_functions(writer, "name", name_of_function);
	write_constant(json, "resource", n, "-1");
	write_files(writer);
	write_constant(json, "lineNumber", n, "null");
	write_constant(json, "columnNumber", n, "null");
	json_key_uint(json, "length", n);
	json_object_end(json);
}

static void write_prefixes(struct json_writer *json, const struct merged_stack_vec *items)
{
	json_key(json, "prefix");
	json_array_begin(json);
	for (size_t i = 0; i < items->count; i++) {
		if (items->items[i].parent != MERGED_NO_PARENT)
			json_uint(json, items->items[i].parent);
		else
			json_null_value(json);
	}
	json_array_end(json);
}

static void write_stack_table(struct gecko_writer *writer)
{
	const struct merged_stack_vec *items = &writer->merged.items;
	struct json_writer *json = &writer->json;

	json_key(json, "stackTable");
	json_object_begin(json);
	write_prefixes(json, items);
	json_key(json, "frame");
	json_array_begin(json);
	for (size_t i = 0; i < items->count; i++)
		json_uint(json, items->items[i].function);
	json_array_end(json);
	json_key(json, "category");
	json_array_begin(json);
	for (size_t i = 0; i < items->count; i++)
		json_uint(json, writer->functions.items[items->items[i].function].category);
	json_array_end(json);
	write_constant(json, "subcategory", items->count, "0");
	json_key_uint(json, "length", items->count);
	json_object_end(json);
}

/* Writes nanoseconds as milliseconds, exactly. Other units stay. */
static void write_weight(struct json_writer *json, bool is_time, uint64_t value)
{
	char text[32];

	if (!is_time) {
		json_uint(json, value);
		return;
	}
	(void)snprintf(text, sizeof(text), "%" PRIu64 ".%06" PRIu64, value / NSEC_PER_MSEC,
		       value % NSEC_PER_MSEC);
	json_raw(json, (struct bytes_view){ (const uint8_t *)text, strlen(text) });
}

/* Stored stacks have no time: sample i is shown at the millisecond i. */
static void write_samples(struct gecko_writer *writer)
{
	const struct merged_stack_vec *items = &writer->merged.items;
	const bool is_time = strcmp(writer->selection->event->unit, "ns") == 0;
	const bool is_bytes = strcmp(writer->selection->event->unit, "bytes") == 0;
	struct json_writer *json = &writer->json;
	size_t count = 0;

	json_key(json, "samples");
	json_object_begin(json);
	json_key_text(json, "weightType", is_time ? "tracing-ms" : is_bytes ? "bytes" : "samples");
	json_key(json, "stack");
	json_array_begin(json);
	for (size_t i = 0; i < items->count; i++)
		if (items->items[i].value > 0) {
			json_uint(json, i);
			count++;
		}
	json_array_end(json);
	json_key(json, "weight");
	json_array_begin(json);
	for (size_t i = 0; i < items->count; i++)
		if (items->items[i].value > 0)
			write_weight(json, is_time, items->items[i].value);
	json_array_end(json);
	write_indexes(json, "time", count);
	json_key_uint(json, "length", count);
	json_object_end(json);
}

static void write_texts(struct gecko_writer *writer)
{
	struct json_writer *json = &writer->json;

	json_key(json, "stringArray");
	json_array_begin(json);
	for (uint32_t i = 0; i < string_table_count(writer->texts); i++)
		json_text_sized(json, string_table_text(writer->texts, i),
				string_table_length(writer->texts, i));
	json_array_end(json);
}

static void write_empty_tables(struct json_writer *json)
{
	static const char *const markers[] = { "data",    "name",  "startTime",
					       "endTime", "phase", "category" };
	static const char *const resources[] = { "lib", "name", "host", "type" };
	static const char *const symbols[] = { "libIndex", "address", "name", "functionSize" };

	write_empty_table(json, "markers", markers, ARRAY_SIZE(markers));
	write_empty_table(json, "resourceTable", resources, ARRAY_SIZE(resources));
	write_empty_table(json, "nativeSymbols", symbols, ARRAY_SIZE(symbols));
}

static void write_thread(struct gecko_writer *writer)
{
	const char *service = writer->selection->service;
	struct json_writer *json = &writer->json;

	json_object_begin(json);
	json_key_text(json, "name", writer->selection->event->name);
	json_key_text(json, "processName", service ? service : "hearth");
	json_key_text(json, "processType", "default");
	json_key_uint(json, "processStartupTime", 0);
	json_key(json, "processShutdownTime");
	json_null_value(json);
	json_key_uint(json, "registerTime", 0);
	json_key(json, "unregisterTime");
	json_null_value(json);
	write_constant(json, "pausedRanges", 0, "");
	json_key_text(json, "pid", "1");
	json_key_uint(json, "tid", 1);
	json_key_bool(json, "isMainThread", true);
	write_samples(writer);
	write_stack_table(writer);
	write_frame_table(writer);
	write_func_table(writer);
	write_empty_tables(json);
	write_texts(writer);
	json_object_end(json);
}

static void write_categories(struct json_writer *json)
{
	json_key(json, "categories");
	json_array_begin(json);
	for (size_t i = 0; i < ARRAY_SIZE(categories); i++) {
		json_object_begin(json);
		json_key_text(json, "name", categories[i].name);
		json_key_text(json, "color", categories[i].colour);
		write_constant(json, "subcategories", 1, "\"Other\"");
		json_object_end(json);
	}
	json_array_end(json);
}

static void write_meta(struct gecko_writer *writer, const struct export_result *result)
{
	static const char *const extensions[] = { "id", "name", "baseURL" };
	const struct export_selection *selection = writer->selection;
	struct json_writer *json = &writer->json;

	json_key(json, "meta");
	json_object_begin(json);
	json_key(json, "interval");
	write_weight(json, true, result->period_ns > 0 ? result->period_ns : NSEC_PER_MSEC);
	json_key_uint(json, "startTime", selection->since_wall_ns / NSEC_PER_MSEC);
	json_key_uint(json, "processType", 0);
	json_key_text(json, "product", "Hearth");
	json_key_uint(json, "stackwalk", 1);
	json_key_uint(json, "version", GECKO_VERSION);
	json_key_uint(json, "preprocessedProfileVersion", PROCESSED_VERSION);
	json_key_bool(json, "symbolicated", true);
	json_key_bool(json, "usesOnlyOneStackType", true);
	json_key_bool(json, "doesNotUseFrameImplementation", true);
	json_key_bool(json, "sourceCodeIsNotOnSearchfox", true);
	json_key_text(json, "misc", result->message);
	write_categories(json);
	write_constant(json, "markerSchema", 0, "");
	write_empty_table(json, "extensions", extensions, ARRAY_SIZE(extensions));
	json_object_end(json);
}

static int gecko_end(void *arg, const struct export_result *result)
{
	struct gecko_writer *writer = arg;
	struct json_writer *json = &writer->json;

	json_object_begin(json);
	write_meta(writer, result);
	write_constant(json, "libs", 0, "");
	json_key(json, "threads");
	json_array_begin(json);
	write_thread(writer);
	json_array_end(json);
	json_object_end(json);
	return bytes_error(json->out);
}

static const struct export_stack_operations operations = {
	.begin = gecko_begin,
	.add = gecko_add,
	.end = gecko_end,
	.free = gecko_free,
};

const struct export_writer export_gecko = { .stacks = &operations };
