/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/top_diff.h"

#include "tests/support/unit.h"

/* Prints "label state self total" of each row, with changes in per cent. */
static char *compare(struct top_diff_input input)
{
	struct bytes out = BYTES_INIT(MIB);
	scoped(arena_freep) struct arena *arena = NULL;
	struct top_diff_row *rows;
	size_t count;

	assert_ok(arena_new(MIB, &arena));
	assert_ok(top_diff_make(&input, arena, &rows, &count));
	for (size_t i = 0; i < count; i++)
		assert_ok(bytes_append_format(&out, "%s %llu>%llu %+.1f %+.1f\n", rows[i].label,
					      (unsigned long long)rows[i].base_self,
					      (unsigned long long)rows[i].self, rows[i].self_change,
					      rows[i].total_change));
	assert_ok(bytes_append_byte(&out, 0));
	return (char *)out.data;
}

static void changes_depend_on_the_mode(void **state)
{
	static const struct {
		enum top_diff_mode mode;
		const char *expected;
	} cases[] = {
		{ TOP_DIFF_RELATIVE, "new 0>50 +25.0 +25.0\ngone 25>0 -25.0 -25.0\n"
				     "a 75>150 +0.0 +0.0\nmain 0>0 +0.0 +0.0\n" },
		{ TOP_DIFF_NORMALISED, "a 75>150 -37.5 -37.5\ngone 25>0 -25.0 -25.0\n"
				       "new 0>50 +12.5 +12.5\nmain 0>0 +0.0 -50.0\n" },
		{ TOP_DIFF_ABSOLUTE, "a 75>150 +75.0 +75.0\nnew 0>50 +50.0 +50.0\n"
				     "gone 25>0 -25.0 -25.0\nmain 0>0 +0.0 +100.0\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct top_row base[] = { { "main", 'A', 0, 100 },
					  { "gone", 'A', 25, 25 },
					  { "a", 'A', 75, 75 } };
		struct top_row after[] = { { "new", 'A', 50, 50 },
					   { "a", 'A', 150, 150 },
					   { "main", 'A', 0, 200 } };
		/* Twice the work in four times the time. */
		scoped_free char *text = compare((struct top_diff_input){
			.base = { base, 3, 100, 10 },
			.after = { after, 3, 200, 40 },
			.mode = cases[i].mode,
		});

		assert_string_equal(text, cases[i].expected);
	}
}

static void rows_can_be_sorted_by_total(void **state)
{
	struct top_row base[] = { { "main", 'A', 0, 50 }, { "a", 'A', 50, 50 } };
	struct top_row after[] = { { "main", 'A', 0, 100 }, { "a", 'A', 60, 60 } };
	scoped_free char *text = compare((struct top_diff_input){
		.base = { base, 2, 100, 1 },
		.after = { after, 2, 100, 1 },
		.by_total = true,
	});

	(void)state;
	assert_string_equal(text, "main 0>0 +0.0 +50.0\na 50>60 +10.0 +10.0\n");
}

static void functions_with_equal_names_and_other_types_are_different(void **state)
{
	struct top_row base[] = { { "f", 'A', 1, 1 } };
	struct top_row after[] = { { "f", 'O', 1, 1 } };
	scoped_free char *text = compare((struct top_diff_input){
		.base = { base, 1, 1, 1 },
		.after = { after, 1, 1, 1 },
	});

	(void)state;
	assert_string_equal(text, "f 0>1 +100.0 +100.0\nf 1>0 -100.0 -100.0\n");
}

static void an_empty_side_has_no_changes_beyond_numbers(void **state)
{
	struct top_row after[] = { { "f", 'A', 1, 1 } };
	scoped_free char *absolute = compare((struct top_diff_input){
		.base = { NULL, 0, 0, 1 },
		.after = { after, 1, 1, 1 },
		.mode = TOP_DIFF_ABSOLUTE,
	});
	scoped_free char *nothing = compare((struct top_diff_input){
		.base = { NULL, 0, 0, 1 },
		.after = { NULL, 0, 0, 1 },
	});

	(void)state;
	assert_string_equal(absolute, "f 0>1 +0.0 +0.0\n");
	assert_string_equal(nothing, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_depend_on_the_mode),
		cmocka_unit_test(rows_can_be_sorted_by_total),
		cmocka_unit_test(functions_with_equal_names_and_other_types_are_different),
		cmocka_unit_test(an_empty_side_has_no_changes_beyond_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
