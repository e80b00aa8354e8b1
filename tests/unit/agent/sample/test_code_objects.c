/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sample/code_objects.h"

#include <stdio.h>

#include "common/limits.h"
#include "tests/support/unit.h"

static const struct code_content step = {
	.language = "python",
	.function = "step",
	.qualified_name = "Model.step",
	.file = "/app/model.py",
	.first_line = 17,
	.line_table = { (const uint8_t *)"\1\2\3", 3 },
};

static int setup(void **state)
{
	struct code_objects *objects;

	assert_ok(code_objects_new(&objects));
	*state = objects;
	return 0;
}

static int teardown(void **state)
{
	(void)code_objects_free(*state);
	return 0;
}

static uint32_t number_of(struct code_objects *objects, const struct code_content *content)
{
	uint32_t number = 0;

	assert_int_equal(code_objects_find(objects, content, &number), 1);
	return number;
}

static void equal_contents_have_one_number(void **state)
{
	struct code_objects *objects = *state;
	char language[] = "python";
	struct code_content copy = step;

	copy.language = language;
	assert_int_equal(number_of(objects, &step), 1);
	assert_int_equal(number_of(objects, &copy), 1);
}

static void contents_that_differ_in_one_part_have_different_numbers(void **state)
{
	struct code_objects *objects = *state;
	struct code_content contents[6] = { step, step, step, step, step, step };

	contents[0].language = "ruby";
	contents[1].function = "run";
	contents[2].qualified_name = NULL;
	contents[3].file = "/app/other.py";
	contents[4].first_line++;
	contents[5].line_table.size--;
	assert_int_equal(number_of(objects, &step), 1);
	for (uint32_t i = 0; i < ARRAY_SIZE(contents); i++)
		assert_int_equal(number_of(objects, &contents[i]), i + 2);
	/* The same bytes, but split differently. */
	contents[0] = (struct code_content){ .function = "ab", .file = "c" };
	contents[1] = (struct code_content){ .function = "a", .file = "bc" };
	assert_int_not_equal(number_of(objects, &contents[0]), number_of(objects, &contents[1]));
}

static void the_content_is_copied(void **state)
{
	struct code_objects *objects = *state;
	char name[] = "bpf_prog_1";
	const struct code_content content = { .language = "bpf", .function = name };
	const struct code_object *object;
	uint32_t number = number_of(objects, &content);

	name[0] = 'x';
	object = code_objects_get(objects, number);
	assert_non_null(object);
	assert_string_equal(object->content.function, "bpf_prog_1");
	assert_null(object->content.file);
	object = code_objects_get(objects, number_of(objects, &step));
	assert_string_equal(object->content.qualified_name, "Model.step");
	assert_memory_equal(object->content.line_table.data, step.line_table.data, 3);
	assert_null(code_objects_get(objects, 77));
}

static void a_line_table_beyond_the_limit_is_not_recorded(void **state)
{
	struct code_objects *objects = *state;
	scoped_free uint8_t *lines = calloc(1, MAX_LINE_TABLE_BYTES + 1);
	struct code_content content = { .function = "big",
					.line_table = { lines, MAX_LINE_TABLE_BYTES } };
	uint32_t number;

	assert_non_null(lines);
	assert_int_equal(number_of(objects, &content), 1);
	content.line_table.size++;
	assert_int_equal(code_objects_find(objects, &content, &number), 0);
	assert_int_equal(code_objects_lost(objects), 1);
}

static void add_many(struct code_objects *objects, uint32_t count)
{
	char name[32];
	const struct code_content content = { .function = name };

	for (uint32_t i = 0; i < count; i++) {
		(void)snprintf(name, sizeof(name), "function_%u", i);
		(void)number_of(objects, &content);
	}
}

static void unused_objects_are_removed_when_there_are_many(void **state)
{
	struct code_objects *objects = *state;
	uint32_t kept;

	code_objects_begin_window(objects, 1);
	kept = number_of(objects, &step);
	add_many(objects, 5000);
	for (uint64_t window = 2; window <= 20; window++) {
		code_objects_begin_window(objects, window);
		code_objects_use(objects, kept);
	}
	assert_non_null(code_objects_get(objects, kept));
	assert_null(code_objects_get(objects, kept + 1));
	/* Its number is not used for other code. */
	add_many(objects, 1);
	assert_int_equal(number_of(objects, &step), kept);
	assert_non_null(code_objects_get(objects, 5002));
}

static void objects_beyond_the_limit_are_counted(void **state)
{
	struct code_objects *objects = *state;
	uint32_t number;

	add_many(objects, 16384);
	assert_int_equal(code_objects_find(objects, &step, &number), 0);
	assert_int_equal(code_objects_lost(objects), 1);
	for (uint64_t window = 1; window <= 14; window++)
		code_objects_begin_window(objects, window);
	assert_int_equal(code_objects_find(objects, &step, &number), 1);
}

static void a_sending_that_was_not_acknowledged_is_forgotten(void **state)
{
	struct code_objects *objects = *state;
	struct code_object *first, *second;
	struct code_content other = step;

	other.first_line = 1;
	first = code_objects_get(objects, number_of(objects, &step));
	second = code_objects_get(objects, number_of(objects, &other));
	first->first_sent_sequence = 3;
	second->first_sent_sequence = 4;
	code_objects_forget_sendings(objects, 3);
	assert_int_equal(first->first_sent_sequence, 3);
	assert_int_equal(second->first_sent_sequence, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(equal_contents_have_one_number),
		TEST(contents_that_differ_in_one_part_have_different_numbers),
		TEST(the_content_is_copied),
		TEST(a_line_table_beyond_the_limit_is_not_recorded),
		TEST(unused_objects_are_removed_when_there_are_many),
		TEST(objects_beyond_the_limit_are_counted),
		TEST(a_sending_that_was_not_acknowledged_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
