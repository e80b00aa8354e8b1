/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/export/export_fixture.h"

static void folded_has_a_line_for_each_path_with_exact_values(void **state)
{
	scoped_free char *text = export_text(*state, "folded");

	assert_string_equal(text, "app;[t] worker;_start;main;[l] lib_entry;[k] do_syscall_64;"
				  "[k] vfs_read 60\n"
				  "app;[t] worker;_start;[k] " CLEANED_NAME " 50\n"
				  "app;[p] app;_start;main;work 70\n");
}

static void csv_has_the_functions_with_self_and_total(void **state)
{
	scoped_free char *text = export_text(*state, "csv");

	assert_string_equal(
		text,
		"function,type,self_nanoseconds,total_nanoseconds,self_percent,total_percent\r\n"
		"\"work\",A,70,70,38.8889,38.8889\r\n"
		"\"[k] vfs_read\",K,60,60,33.3333,33.3333\r\n"
		"\"[k] evil:\"\"<b>]]>\\" REPLACED ",'\","
		"K,50,50,27.7778,27.7778\r\n"
		"\"_start\",A,0,180,0.0000,100.0000\r\n"
		"\"main\",A,0,130,0.0000,72.2222\r\n"
		"\"[k] do_syscall_64\",K,0,60,0.0000,33.3333\r\n"
		"\"[l] lib_entry\",L,0,60,0.0000,33.3333\r\n");
}

/* C++ templates have names of any length. */
static void a_long_name_is_cut_after_a_whole_character(void **state)
{
	enum { LONG = 6000 };
	static char long_name[LONG + 1];
	static const struct fake_name long_names[] = { { 0x4e, long_name } };
	struct fixture *fixture = *state;
	scoped_free char *text = NULL;
	const char *line;

	for (size_t i = 0; i < LONG; i += 2)
		memcpy(long_name + i, "\xc3\xa9", 2);
	FAKE_SET(fixture, names, long_names);
	text = export_text(fixture, "folded");
	line = strstr(text, "[k] \xc3\xa9");
	assert_non_null(line);
	line += strlen("[k] ");
	while (strncmp(line, "\xc3\xa9", 2) == 0)
		line += 2;
	assert_int_equal(strncmp(line, "\xe2\x80\xa6 50\n", 7), 0);
}

static void csv_of_whole_hosts_has_processes(void **state)
{
	struct fixture *fixture = *state;
	scoped_free char *text = NULL;

	fixture->request.service = "Total";
	text = export_text(fixture, "csv");
	assert_non_null(strstr(text, "process,type,"));
	assert_non_null(strstr(text, "\"[p] app\",P,70,180,38.8889,100.0000\r\n"));
}

static void every_format_reports_that_its_output_is_full(void **state)
{
	static const char *const formats[] = {
#define EXPORT_FORMAT(id, name, ...) name,
#include "common/export_formats.def"
#undef EXPORT_FORMAT
	};

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		scoped(bytes_release) struct bytes small = BYTES_INIT(60);

		assert_int_equal(export_profile(*state, formats[i], &small), -EFBIG);
	}
}

static void every_format_gives_back_the_memory_it_took(void **state)
{
	static const char *const formats[] = {
#define EXPORT_FORMAT(id, name, ...) name,
#include "common/export_formats.def"
#undef EXPORT_FORMAT
	};
	struct memory_budget budget = { .limit_bytes = 256 * MIB };
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		struct bytes out = BYTES_INIT(64 * MIB);

		out.budget = fixture->options.memory = &budget;
		assert_ok(export_profile(fixture, formats[i], &out));
		bytes_release(&out);
		fixture->options.memory = NULL;
		assert_int_equal(budget.used_bytes, 0);
	}
}

static void formats_are_found_by_name(void **state)
{
	(void)state;
	assert_null(export_format_find("xml"));
	assert_null(export_format_find(""));
	assert_string_equal(export_format_find("pprof")->suffix, "pb.gz");
	assert_non_null(strstr(export_format_names, "pprof, folded, speedscope"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EXPORT_TEST(folded_has_a_line_for_each_path_with_exact_values),
		EXPORT_TEST(csv_has_the_functions_with_self_and_total),
		EXPORT_TEST(a_long_name_is_cut_after_a_whole_character),
		EXPORT_TEST(csv_of_whole_hosts_has_processes),
		EXPORT_TEST(every_format_reports_that_its_output_is_full),
		EXPORT_TEST(every_format_gives_back_the_memory_it_took),
		EXPORT_TEST(formats_are_found_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
