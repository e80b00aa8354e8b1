/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>

#include "tests/unit/symbolizer/export/export_fixture.h"

static json_t *export_as_json(struct fixture *fixture, const char *format)
{
	scoped_free char *text = export_text(fixture, format);
	json_error_t error;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	if (!root)
		fail_msg("%s: %s", error.text, text);
	return root;
}

static const char *text_at(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "(none)";
}

/* Writes "thread;outermost;...;leaf=value" for a stack of the format json. */
static void print_stack(const json_t *root, const json_t *stack, struct bytes *out)
{
	const json_t *frames = json_object_get(root, "frames");
	const json_t *path = json_object_get(stack, "frames");

	assert_ok(bytes_append_format(
		out, "%s", json_string_value(json_array_get(json_object_get(stack, "levels"), 0))));
	for (size_t i = json_array_size(path); i-- > 0;) {
		size_t number = (size_t)json_integer_value(json_array_get(path, i));

		assert_in_range(number, 0, json_array_size(frames) - 1);
		assert_ok(bytes_append_format(out, ";%s",
					      text_at(json_array_get(frames, number), "label")));
	}
	assert_ok(bytes_append_format(out, "=%lld\n",
				      json_integer_value(json_object_get(stack, "value"))));
}

static void json_has_every_stack_with_its_value(void **state)
{
	json_t *root = export_as_json(*state, "json");
	scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);
	const json_t *stack;
	size_t i;

	json_array_foreach(json_object_get(root, "stacks"), i, stack)
		print_stack(root, stack, &out);
	assert_ok(bytes_append_byte(&out, 0));
	assert_string_equal((const char *)out.data,
			    "[p] app;_start;main;work=50\n"
			    "[t] worker;_start;main;[l] lib_entry;[k] do_syscall_64;"
			    "[k] vfs_read=60\n"
			    "[p] app;_start;main;work=20\n"
			    "[t] worker;_start;[k] " CLEANED_NAME "=50\n");
	assert_int_equal(json_integer_value(json_object_get(root, "total")), 180);
	assert_int_equal(json_integer_value(json_object_get(root, "period")), 10);
	assert_string_equal(text_at(root, "unit"), "nanoseconds");
	assert_string_equal(text_at(root, "message"), "a message");
	json_decref(root);
}

/* Returns the first frame with this label. */
static const json_t *frame_of(const json_t *root, const char *label)
{
	const json_t *frame;
	size_t i;

	json_array_foreach(json_object_get(root, "frames"), i,
			   frame) if (strcmp(text_at(frame, "label"), label) == 0) return frame;
	fail_msg("no frame '%s'", label);
	return NULL;
}

static void json_has_all_that_is_known_about_a_frame(void **state)
{
	json_t *root = export_as_json(*state, "json");
	const json_t *work = frame_of(root, "work"), *kernel = frame_of(root, "[k] vfs_read");

	assert_string_equal(text_at(work, "function"), "work");
	assert_string_equal(text_at(work, "linkage_name"), "work");
	assert_string_equal(text_at(work, "kind"), "native");
	assert_string_equal(text_at(work, "address"), "0x1210");
	assert_string_equal(text_at(work, "executable"), "app");
	assert_string_equal(text_at(work, "build_id"), "61707031");
	assert_false(json_is_true(json_object_get(work, "inlined")));
	assert_string_equal(text_at(kernel, "function"), "vfs_read");
	assert_string_equal(text_at(kernel, "kind"), "kernel");
	json_decref(root);
}

/* The fields that the schema of speedscope requires, and that indexes and sums agree. */
static void speedscope_has_what_its_schema_requires(void **state)
{
	json_t *root = export_as_json(*state, "speedscope");
	const json_t *profile = json_array_get(json_object_get(root, "profiles"), 0);
	const json_t *frames = json_object_get(json_object_get(root, "shared"), "frames");
	const json_t *samples = json_object_get(profile, "samples"), *frame, *sample;
	const json_t *weights = json_object_get(profile, "weights");
	json_int_t sum = 0;
	size_t i, k;

	assert_string_equal(text_at(root, "$schema"),
			    "https://www.speedscope.app/file-format-schema.json");
	assert_string_equal(text_at(profile, "type"), "sampled");
	assert_string_equal(text_at(profile, "name"), "on-cpu");
	assert_string_equal(text_at(profile, "unit"), "nanoseconds");
	json_array_foreach(frames, i, frame)
		assert_true(json_is_string(json_object_get(frame, "name")));
	assert_int_equal(json_array_size(samples), 3);
	assert_int_equal(json_array_size(weights), 3);
	json_array_foreach(samples, i, sample)
	{
		sum += json_integer_value(json_array_get(weights, i));
		for (k = 0; k < json_array_size(sample); k++)
			assert_in_range(json_integer_value(json_array_get(sample, k)), 0,
					json_array_size(frames) - 1);
	}
	assert_int_equal(json_integer_value(json_object_get(profile, "startValue")), 0);
	assert_int_equal(json_integer_value(json_object_get(profile, "endValue")), sum);
	assert_int_equal(sum, 180);
	json_decref(root);
}

static void speedscope_merges_the_addresses_of_a_function(void **state)
{
	json_t *root = export_as_json(*state, "speedscope");
	const json_t *frames = json_object_get(json_object_get(root, "shared"), "frames");
	const json_t *profile = json_array_get(json_object_get(root, "profiles"), 0);
	const json_t *sample = json_array_get(json_object_get(profile, "samples"), 0);
	static const char *const expected[] = { "[p] app", "_start", "main", "work" };

	assert_int_equal(json_array_size(sample), ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		assert_string_equal(
			text_at(json_array_get(frames, (size_t)json_integer_value(
							       json_array_get(sample, i))),
				"name"),
			expected[i]);
	json_decref(root);
}

/* Returns the column of a table of the thread, which must have the table's length. */
static const json_t *column(const json_t *thread, const char *table, const char *name)
{
	const json_t *of = json_object_get(thread, table);
	const json_t *items = json_object_get(of, name);

	if (!json_is_array(items) ||
	    (json_int_t)json_array_size(items) != json_integer_value(json_object_get(of, "length")))
		fail_msg("%s.%s has not the length of the table", table, name);
	return items;
}

static json_int_t item(const json_t *column_of, json_int_t index)
{
	const json_t *value = json_array_get(column_of, (size_t)index);

	return json_is_null(value) ? -1 : json_integer_value(value);
}

/* Writes the stack of a sample as "outermost;...;leaf=milliseconds". */
static void print_gecko_sample(const json_t *thread, json_int_t sample, struct bytes *out)
{
	const json_t *texts = json_object_get(thread, "stringArray");
	json_int_t stack = item(column(thread, "samples", "stack"), sample);
	json_int_t path[64];
	size_t depth = 0;

	for (; stack >= 0; stack = item(column(thread, "stackTable", "prefix"), stack))
		path[depth++] = item(column(thread, "stackTable", "frame"), stack);
	while (depth-- > 0) {
		json_int_t func = item(column(thread, "frameTable", "func"), path[depth]);
		json_int_t name = item(column(thread, "funcTable", "name"), func);

		assert_ok(bytes_append_format(
			out, "%s;", json_string_value(json_array_get(texts, (size_t)name))));
	}
	assert_ok(
		bytes_append_format(out, "%.6f\n",
				    json_real_value(json_array_get(
					    column(thread, "samples", "weight"), (size_t)sample))));
}

static void gecko_has_the_stacks_in_tables_of_equal_length(void **state)
{
	static const char *const columns[][2] = {
		{ "samples", "time" },
		{ "stackTable", "category" },
		{ "stackTable", "subcategory" },
		{ "frameTable", "address" },
		{ "frameTable", "inlineDepth" },
		{ "frameTable", "category" },
		{ "frameTable", "nativeSymbol" },
		{ "frameTable", "line" },
		{ "frameTable", "column" },
		{ "frameTable", "implementation" },
		{ "funcTable", "isJS" },
		{ "funcTable", "relevantForJS" },
		{ "funcTable", "resource" },
		{ "funcTable", "fileName" },
		{ "markers", "data" },
		{ "resourceTable", "lib" },
		{ "nativeSymbols", "functionSize" },
	};
	json_t *root = export_as_json(*state, "gecko");
	const json_t *thread = json_array_get(json_object_get(root, "threads"), 0);
	scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		(void)column(thread, columns[i][0], columns[i][1]);
	for (json_int_t i = 0; i < 3; i++)
		print_gecko_sample(thread, i, &out);
	assert_ok(bytes_append_byte(&out, 0));
	assert_string_equal((const char *)out.data,
			    "[p] app;_start;main;work;0.000070\n"
			    "[t] worker;_start;main;[l] lib_entry;[k] do_syscall_64;"
			    "[k] vfs_read;0.000060\n"
			    "[t] worker;_start;[k] " CLEANED_NAME ";0.000050\n");
	assert_string_equal(text_at(json_object_get(thread, "samples"), "weightType"),
			    "tracing-ms");
	assert_string_equal(text_at(json_object_get(root, "meta"), "misc"), "a message");
	json_decref(root);
}

static void stacks_of_whole_hosts_have_processes_and_threads(void **state)
{
	struct fixture *fixture = *state;
	json_t *root;
	const json_t *stack;

	fixture->request.service = "Total";
	root = export_as_json(fixture, "json");
	assert_int_equal(json_integer_value(json_object_get(root, "total")), 180);
	stack = json_array_get(json_object_get(root, "stacks"), 0);
	assert_int_equal(json_array_size(json_object_get(stack, "frames")), 0);
	assert_int_equal(json_array_size(json_object_get(stack, "levels")), 1);
	json_decref(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EXPORT_TEST(json_has_every_stack_with_its_value),
		EXPORT_TEST(json_has_all_that_is_known_about_a_frame),
		EXPORT_TEST(speedscope_has_what_its_schema_requires),
		EXPORT_TEST(speedscope_merges_the_addresses_of_a_function),
		EXPORT_TEST(gecko_has_the_stacks_in_tables_of_equal_length),
		EXPORT_TEST(stacks_of_whole_hosts_have_processes_and_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
