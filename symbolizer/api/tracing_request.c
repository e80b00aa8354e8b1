/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Parsing has two steps. First, a table of keys and types controls the conversion to a plain
 * struct. Then the values are checked against each other. Clients of DeepFlow rely on the rules of
 * Go's decoder: a required key with the value "", 0 or null is missing.
 */

#include "symbolizer/api/tracing_request.h"

#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <strings.h>

/* 9999-12-31T23:59:59Z. A larger number is not in seconds. */
#define LAST_SECOND INT64_C(253402300799)

#define SLOTS_PER_SECOND (NSEC_PER_SEC / SLOT_NS)

/* Enough for a filter with a thousand host names. Parsing and matching it takes milliseconds. */
#define MAX_TEXT_BYTES (64 * KIB)

enum key_type {
	KEY_TEXT,
	KEY_INTEGER,
	KEY_FLAG,
};

struct raw_request {
	const char *app_service;
	const char *event_type;
	const char *language_type;
	const char *tag_filter;
	const char *group_by;
	const char *callers_of;
	const char *callees_of;
	const char *format;
	int64_t time_start;
	int64_t time_end;
	int64_t max_kernel_stack_depth;
	int64_t max_nodes;
	bool debug;
	bool fold_threads;
	bool inlines;
	bool function_starts;
};

static const struct key_row {
	const char *name;
	enum key_type type;
	bool required;
	size_t offset;
} key_rows[] = {
	{ "profile_event_type", KEY_TEXT, true, offsetof(struct raw_request, event_type) },
	{ "profile_language_type", KEY_TEXT, true, offsetof(struct raw_request, language_type) },
	{ "time_start", KEY_INTEGER, true, offsetof(struct raw_request, time_start) },
	{ "time_end", KEY_INTEGER, true, offsetof(struct raw_request, time_end) },
	{ "app_service", KEY_TEXT, false, offsetof(struct raw_request, app_service) },
	{ "tag_filter", KEY_TEXT, false, offsetof(struct raw_request, tag_filter) },
	{ "group_by", KEY_TEXT, false, offsetof(struct raw_request, group_by) },
	{ "callers_of", KEY_TEXT, false, offsetof(struct raw_request, callers_of) },
	{ "callees_of", KEY_TEXT, false, offsetof(struct raw_request, callees_of) },
	{ "format", KEY_TEXT, false, offsetof(struct raw_request, format) },
	{ "max_kernel_stack_depth", KEY_INTEGER, false,
	  offsetof(struct raw_request, max_kernel_stack_depth) },
	{ "max_nodes", KEY_INTEGER, false, offsetof(struct raw_request, max_nodes) },
	{ "debug", KEY_FLAG, false, offsetof(struct raw_request, debug) },
	{ "fold_threads", KEY_FLAG, false, offsetof(struct raw_request, fold_threads) },
	{ "inlines", KEY_FLAG, false, offsetof(struct raw_request, inlines) },
	{ "function_starts", KEY_FLAG, false, offsetof(struct raw_request, function_starts) },
};

printf_like(2, 3) static int refuse(char *message, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(message, TRACING_MESSAGE_SIZE, format, args);
	va_end(args);
	return -EINVAL;
}

static bool fits_64_bits(double number)
{
	return number >= -0x1p63 && number < 0x1p63;
}

/* Returns whether a number has no fraction. JSON has only one type of number: 1.0 and 1e9 are
 * integers too. */
static bool is_whole(const json_t *value)
{
	double number = json_real_value(value);

	/* Doubles of 2^53 and above have no fraction. */
	return !fits_64_bits(number) || (double)(int64_t)number == number;
}

static const char *json_type_name(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "an array";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
		return "an integer";
	case JSON_REAL:
		return is_whole(value) ? "an integer" : "a number with a fraction";
	case JSON_TRUE:
	case JSON_FALSE:
		return "a boolean";
	case JSON_NULL:
		return "null";
	}
	return "something else";
}

static int wrong_type(const struct key_row *row, const json_t *value, char *message)
{
	static const char *const expected[] = {
		[KEY_TEXT] = "a string",
		[KEY_INTEGER] = "an integer",
		[KEY_FLAG] = "true or false",
	};

	if (row->type == KEY_INTEGER && json_is_real(value) && is_whole(value))
		return refuse(message, "%s: an integer of 64 bits is expected, not a larger number",
			      row->name);
	return refuse(message, "%s: %s is expected, not %s", row->name, expected[row->type],
		      json_type_name(value));
}

static int read_text(const struct key_row *row, const json_t *value, struct arena *arena,
		     const char **ret_text, char *message)
{
	size_t length = json_string_length(value);
	const char *text;

	if (length > MAX_TEXT_BYTES)
		return refuse(message, "%s: longer than %" PRIu64 " bytes", row->name,
			      MAX_TEXT_BYTES);
	text = arena_copy_text(arena, json_string_value(value), length);
	if (!text)
		return -ENOMEM;
	*ret_text = text;
	return 0;
}

static bool read_integer(const json_t *value, int64_t *ret_integer)
{
	if (json_is_integer(value))
		*ret_integer = json_integer_value(value);
	else if (json_is_real(value) && is_whole(value) && fits_64_bits(json_real_value(value)))
		*ret_integer = (int64_t)json_real_value(value);
	else
		return false;
	return true;
}

static int read_value(const struct key_row *row, const json_t *value, struct arena *arena,
		      struct raw_request *raw, char *message)
{
	void *field = (char *)raw + row->offset;

	if (json_is_null(value))
		return 0;
	switch (row->type) {
	case KEY_TEXT:
		if (!json_is_string(value))
			break;
		return read_text(row, value, arena, field, message);
	case KEY_INTEGER:
		if (!read_integer(value, field))
			break;
		return 0;
	case KEY_FLAG:
		if (!json_is_boolean(value))
			break;
		*(bool *)field = json_is_true(value);
		return 0;
	}
	return wrong_type(row, value, message);
}

static const struct key_row *find_key(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(key_rows); i++)
		if (strcasecmp(key_rows[i].name, name) == 0)
			return &key_rows[i];
	return NULL;
}

static int read_object(json_t *root, struct arena *arena, struct raw_request *raw, char *message)
{
	const char *name;
	json_t *value;

	if (!json_is_object(root))
		return refuse(message, "the body must be a JSON object, not %s",
			      json_type_name(root));
	json_object_foreach(root, name, value)
	{
		const struct key_row *row = find_key(name);
		int r = row ? read_value(row, value, arena, raw, message) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

static bool is_missing(const struct key_row *row, const struct raw_request *raw)
{
	const void *field = (const char *)raw + row->offset;

	if (row->type == KEY_TEXT) {
		const char *text = *(const char *const *)field;

		return !text || !*text;
	}
	return *(const int64_t *)field == 0;
}

static int check_required(const struct raw_request *raw, char *message)
{
	char missing[TRACING_MESSAGE_SIZE / 2] = "";
	unsigned int count = 0;
	size_t used = 0;

	for (size_t i = 0; i < ARRAY_SIZE(key_rows); i++)
		if (key_rows[i].required && is_missing(&key_rows[i], raw))
			used += (size_t)snprintf(missing + used, sizeof(missing) - used, "%s%s",
						 count++ ? ", " : "", key_rows[i].name);
	if (count > 0)
		return refuse(message, "required and missing, empty or zero: %s", missing);
	return 0;
}

static int check_times(const struct raw_request *raw, char *message)
{
	const struct {
		const char *name;
		int64_t value;
	} times[] = { { "time_start", raw->time_start }, { "time_end", raw->time_end } };

	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		if (times[i].value < 0 || times[i].value > LAST_SECOND)
			return refuse(
				message,
				"%s: %" PRId64
				" is not between the years 1970 and 9999; times are unix seconds",
				times[i].name, times[i].value);
	return 0;
}

/* Valid requests of DeepFlow's API that no sample can meet. Sets the reason. */
static bool selects_nothing(const struct raw_request *raw, char *message)
{
	if (strcmp(raw->language_type, "eBPF") != 0)
		return refuse(message,
			      "profile_language_type: '%.64s' is not collected, only eBPF is",
			      raw->language_type) < 0;
	if (raw->time_end < raw->time_start)
		return refuse(message, "time_end: %" PRId64 " is before time_start %" PRId64,
			      raw->time_end, raw->time_start) < 0;
	return false;
}

static int check_choices(const struct raw_request *raw, char *message)
{
	if (raw->format && strcmp(raw->format, "nodes") != 0 && strcmp(raw->format, "columns") != 0)
		return refuse(message, "format: '%.64s' is neither nodes nor columns", raw->format);
	if (raw->max_kernel_stack_depth < -1)
		return refuse(message,
			      "max_kernel_stack_depth: %" PRId64
			      " is below -1, which keeps all kernel frames",
			      raw->max_kernel_stack_depth);
	if (raw->max_nodes < 0 || raw->max_nodes > UINT32_MAX)
		return refuse(message,
			      "max_nodes: %" PRId64
			      " is not between 0, which keeps all nodes, and %u",
			      raw->max_nodes, UINT32_MAX);
	if (raw->callers_of && raw->callees_of)
		return refuse(message, "callers_of, callees_of: ask for one of both: an answer is "
				       "one tree");
	return 0;
}

static void convert(const struct raw_request *raw, struct tracing_request *ret_request)
{
	int64_t kernel_depth = MIN(raw->max_kernel_stack_depth, (int64_t)INT_MAX);

	*ret_request = (struct tracing_request){
		.profile = {
			.type = event_type_from_name(raw->event_type),
			.service = raw->app_service && *raw->app_service ? raw->app_service : NULL,
			.tag_filter = raw->tag_filter,
			.group_by = raw->group_by,
			.callers_of = raw->callers_of,
			.callees_of = raw->callees_of,
			.from_slot = (uint64_t)raw->time_start * SLOTS_PER_SECOND,
			.to_slot = ((uint64_t)raw->time_end + 1) * SLOTS_PER_SECOND,
			.max_kernel_stack_depth = (int)kernel_depth,
			.fold_threads = raw->fold_threads,
			.no_inlines = !raw->inlines,
			.function_starts = raw->function_starts,
			.max_nodes = (uint32_t)raw->max_nodes,
		},
		.event_name = raw->event_type,
		.columns = raw->format && strcmp(raw->format, "columns") == 0,
		.debug = raw->debug,
	};
}

int tracing_request_parse(struct bytes_view body, struct arena *arena,
			  struct tracing_request *ret_request,
			  char ret_message[TRACING_MESSAGE_SIZE])
{
	struct raw_request raw = { .max_kernel_stack_depth = -1, .inlines = true };
	scoped(json_decrefp) json_t *root = NULL;
	json_error_t error;
	int r;

	if (body.size == 0)
		return refuse(ret_message, "the body is empty; a JSON object is expected");
	/* Go's decoder reads one value and ignores the rest. JSON_DECODE_ANY allows the error
	 * message to name the type of a value that is not an object. */
	root = json_loadb((const char *)body.data, body.size,
			  JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY, &error);
	if (!root)
		return refuse(ret_message, "the body is not JSON: %s (line %d, column %d)",
			      error.text, error.line, error.column);

	r = read_object(root, arena, &raw, ret_message);
	if (r < 0)
		return r;
	r = check_required(&raw, ret_message);
	if (r < 0)
		return r;
	r = check_times(&raw, ret_message);
	if (r < 0)
		return r;
	r = check_choices(&raw, ret_message);
	if (r < 0)
		return r;
	convert(&raw, ret_request);
	return !selects_nothing(&raw, ret_message);
}
