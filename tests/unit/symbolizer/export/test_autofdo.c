/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include "symbolizer/export/export.h"

/* Functions at their lines. The caller of an inlined function is at the line of the call. */
enum { OUTER_12, MIDDLE_22, INNER_34, OUTER_15, NO_FIRST, NO_LINE, BLANK_NAME, MACRO, N_FUNCTIONS };

static struct frame_function functions[N_FUNCTIONS] = {
	[OUTER_12] = { .name = "outer()",
		       .linkage_name = "_Z5outerv",
		       .line = 12,
		       .first_line = 10 },
	[MIDDLE_22] = { .name = "middle", .linkage_name = "middle", .line = 22, .first_line = 20 },
	[INNER_34] = { .name = "inner", .linkage_name = "inner", .line = 34, .first_line = 30 },
	[OUTER_15] = { .name = "outer()",
		       .linkage_name = "_Z5outerv",
		       .line = 15,
		       .first_line = 10 },
	[NO_FIRST] = { .name = "f", .linkage_name = "f", .line = 1 },
	[NO_LINE] = { .name = "f", .linkage_name = "f", .first_line = 1 },
	[BLANK_NAME] = { .name = "a b", .linkage_name = "a b", .line = 2, .first_line = 1 },
	[MACRO] = { .name = "macro", .linkage_name = "macro", .line = 5, .first_line = 9 },
};

static struct store_executable executable = { .id = 1 };

/* The first is native code, the second a function of an interpreter. */
static struct frame frames[] = {
	{ .stored.kind = FRAME_NATIVE, .executable = 0, .code_object = FRAME_NO_CODE_OBJECT },
	{ .stored.kind = FRAME_PYTHON,
	  .executable = FRAME_NO_EXECUTABLE,
	  .code_object = FRAME_NO_CODE_OBJECT },
};

static const struct resolved_stacks stacks = {
	.frames = { .frames = frames,
		    .n_frames = ARRAY_SIZE(frames),
		    .functions = { .items = functions, .count = N_FUNCTIONS },
		    .executables = &executable,
		    .n_executables = 1 },
};

static const struct export_selection selection = {
	.service = "app",
	.event = &(const struct event_type_info){ EVENT_ON_CPU, "on-cpu", "ns", EVENT_VALUE_TIME },
};

#define MAX_DEPTH 4

struct sample {
	uint64_t value;
	uint32_t n_frames;
	struct resolved_frame path[MAX_DEPTH]; /* leaf first */
};

#define FUNCTION(number)                                                                           \
	{                                                                                          \
		.frame = 0, .function = (number)                                                   \
	}
#define INLINED_FUNCTION(number)                                                                   \
	{                                                                                          \
		.frame = 0, .function = (number), .inlined = true                                  \
	}

static char *profile_of(const struct sample *samples, size_t count)
{
	const struct export_stack_operations *operations =
		export_format_find("autofdo")->writer->stacks;
	const struct export_result result = { .message = "" };
	struct bytes out = BYTES_INIT(MIB);
	void *writer;

	assert_ok(operations->begin(&selection, &out, &writer));
	for (size_t i = 0; i < count; i++) {
		const struct resolved_stack stack = { .value = samples[i].value,
						      .frames = samples[i].path,
						      .n_frames = samples[i].n_frames };

		assert_ok(operations->add(writer, &stacks, &stack));
	}
	assert_ok(operations->end(writer, &result));
	operations->free(writer);
	assert_ok(bytes_append_byte(&out, 0));
	return (char *)out.data;
}

#define HEAD "# on-cpu of hearth; values are nanoseconds\n"

static void inlined_functions_are_below_the_line_of_their_call(void **state)
{
	static const struct sample samples[] = {
		{ 50,
		  3,
		  { INLINED_FUNCTION(INNER_34), INLINED_FUNCTION(MIDDLE_22), FUNCTION(OUTER_12) } },
		{ 7, 2, { INLINED_FUNCTION(MIDDLE_22), FUNCTION(OUTER_12) } },
		{ 3, 1, { FUNCTION(OUTER_12) } },
		{ 40, 1, { FUNCTION(OUTER_15) } },
	};
	scoped_free char *text = profile_of(samples, ARRAY_SIZE(samples));

	(void)state;
	assert_string_equal(text, HEAD "_Z5outerv:100:0\n"
				       " 2: 3\n"
				       " 5: 40\n"
				       " 2: middle:57\n"
				       "  2: 7\n"
				       "  2: inner:50\n"
				       "   4: 50\n");
}

static void only_the_innermost_frame_of_a_stack_counts(void **state)
{
	static const struct sample samples[] = {
		{ 50, 2, { FUNCTION(INNER_34), FUNCTION(OUTER_12) } },
		{ 20, 2, { FUNCTION(INNER_34), FUNCTION(OUTER_15) } },
		{ 10, 1, { FUNCTION(OUTER_15) } },
	};
	scoped_free char *text = profile_of(samples, ARRAY_SIZE(samples));

	(void)state;
	assert_string_equal(text, HEAD "inner:70:0\n 4: 70\n_Z5outerv:10:0\n 5: 10\n");
}

static void a_line_before_the_first_one_wraps_around(void **state)
{
	static const struct sample samples[] = { { 9, 1, { FUNCTION(MACRO) } } };
	scoped_free char *text = profile_of(samples, ARRAY_SIZE(samples));

	(void)state;
	assert_string_equal(text, HEAD "macro:9:0\n 65532: 9\n");
}

static void values_that_are_left_out_are_in_comments(void **state)
{
	static const struct sample samples[] = {
		{ 1, 1, { { .frame = 1, .function = NO_FIRST } } },
		{ 2, 1, { { .frame = 0, .function = FRAME_NO_FUNCTION } } },
		{ 4, 1, { { .frame = RESOLVED_NO_FRAME, .function = FRAME_NO_FUNCTION } } },
		{ 8, 0, {} },
		{ 16, 1, { FUNCTION(NO_LINE) } },
		{ 32, 1, { FUNCTION(NO_FIRST) } },
		{ 64, 2, { INLINED_FUNCTION(INNER_34), FUNCTION(NO_FIRST) } },
		{ 128, 1, { FUNCTION(BLANK_NAME) } },
	};
	scoped_free char *text = profile_of(samples, ARRAY_SIZE(samples));

	(void)state;
	assert_string_equal(
		text,
		HEAD "# left out: 1 nanoseconds not compiled by a compiler with sample profiles\n"
		     "# left out: 14 nanoseconds without a function\n"
		     "# left out: 16 nanoseconds without a source line\n"
		     "# left out: 96 nanoseconds in functions whose first line is not known\n"
		     "# left out: 128 nanoseconds in functions with a name that the format cannot "
		     "have\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inlined_functions_are_below_the_line_of_their_call),
		cmocka_unit_test(only_the_innermost_frame_of_a_stack_counts),
		cmocka_unit_test(a_line_before_the_first_one_wraps_around),
		cmocka_unit_test(values_that_are_left_out_are_in_comments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
