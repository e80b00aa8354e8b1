/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/list/source_text.h"

#include "symbolizer/cli/print/scoped_json.h"
#include "tests/support/unit.h"

static const char two_files[] =
	"{\"self_value\":3000000,\"total_value\":5000000,\"files\":["
	"{\"file\":\"/src/a.c\",\"function\":\"work\",\"build_id\":\"aabb\",\"lines\":["
	"{\"line\":0,\"self_value\":1000,\"total_value\":1000},"
	"{\"line\":6,\"self_value\":1000000,\"total_value\":1000000},"
	"{\"line\":20,\"self_value\":0,\"total_value\":4000000}]},"
	"{\"file\":\"\",\"function\":\"work\",\"build_id\":\"\",\"lines\":["
	"{\"line\":0,\"self_value\":2000000,\"total_value\":2000000}]}]}";

static struct bytes_view find(void *arg, const char *build_id, const char *file)
{
	assert_string_equal(build_id, "aabb");
	assert_string_equal(file, "/src/a.c");
	return (struct bytes_view){ arg, strlen(arg) };
}

static void expect(const char *answer_text, const char *source, int width, const char *expected)
{
	const struct source_text_options options = {
		.event = EVENT_ON_CPU,
		.width = width,
		.find = find,
		.find_arg = (void *)(uintptr_t)source,
	};
	scoped(json_freep) json_t *answer = json_loads(answer_text, 0, NULL);
	struct bytes out = BYTES_INIT(16 * KIB);

	assert_non_null(answer);
	assert_ok(source_text_write(answer, &options, &out));
	assert_bytes_equal_text(&out, expected);
	bytes_release(&out);
}

static void lines_have_their_text_and_a_few_lines_around(void **state)
{
	(void)state;
	expect(two_files,
	       "l1\nl2\n\tl3\nl4\n  l5\nl6 has more text than fits the terminal\r\nl7\nl8\nl9\n"
	       "l10\nl11\nl12\nl13\nl14\nl15\nl16\nl17\nl18\nl19\nl20\nl21",
	       60,
	       "self 3.00 s, total 5.00 s\n"
	       "\n"
	       "work, /src/a.c\n"
	       "     line        self       total\n"
	       "        ?     1.00 ms     1.00 ms  \n"
	       "        3                              l3\n"
	       "        4                          l4\n"
	       "        5                            l5\n"
	       "        6      1.00 s      1.00 s  l6 has more text than fit\n"
	       "        7                          l7\n"
	       "        8                          l8\n"
	       "        9                          l9\n"
	       "      ...\n"
	       "       17                          l17\n"
	       "       18                          l18\n"
	       "       19                          l19\n"
	       "       20                  4.00 s  l20\n"
	       "       21                          l21\n"
	       "\n"
	       "work, file not known (its text was not found)\n"
	       "     line        self       total\n"
	       "        ?      2.00 s      2.00 s  \n");
}

static void without_text_only_lines_with_a_value_are_printed(void **state)
{
	(void)state;
	expect(two_files, "", 80,
	       "self 3.00 s, total 5.00 s\n"
	       "\n"
	       "work, /src/a.c (its text was not found)\n"
	       "     line        self       total\n"
	       "        ?     1.00 ms     1.00 ms  \n"
	       "        6      1.00 s      1.00 s  \n"
	       "       20                  4.00 s  \n"
	       "\n"
	       "work, file not known (its text was not found)\n"
	       "     line        self       total\n"
	       "        ?      2.00 s      2.00 s  \n");
}

static void a_text_that_is_shorter_than_the_line_number_is_no_error(void **state)
{
	(void)state;
	expect("{\"self_value\":0,\"total_value\":1000,\"files\":[{\"file\":\"/src/a.c\","
	       "\"function\":\"f\",\"build_id\":\"aabb\",\"lines\":[{\"line\":4000000000,"
	       "\"self_value\":0,\"total_value\":1000}]}]}",
	       "only this line\n", 80,
	       "self 0 us, total 1.00 ms\n"
	       "\n"
	       "f, /src/a.c\n"
	       "     line        self       total\n"
	       "4000000000                 1.00 ms  \n");
}

static void control_characters_of_the_server_do_not_reach_the_terminal(void **state)
{
	(void)state;
	expect("{\"self_value\":0,\"total_value\":0,\"files\":[{\"file\":\"/src/a.c\","
	       "\"function\":\"\\u001b[2J\",\"build_id\":\"aabb\",\"lines\":[{\"line\":1,"
	       "\"self_value\":0,\"total_value\":0}]}]}",
	       "\033[2J\n", 80,
	       "self 0 us, total 0 us\n"
	       "\n"
	       "?[2J, /src/a.c\n"
	       "     line        self       total\n"
	       "        1                    0 us  ?[2J\n");
}

static void an_answer_of_another_form_is_refused(void **state)
{
	const struct source_text_options options = { .find = find };
	scoped(json_freep) json_t *answer = json_loads("{\"files\":7}", 0, NULL);
	struct bytes out = BYTES_INIT(KIB);

	(void)state;
	assert_errno(source_text_write(answer, &options, &out), -EBADMSG);
	bytes_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_have_their_text_and_a_few_lines_around),
		cmocka_unit_test(without_text_only_lines_with_a_value_are_printed),
		cmocka_unit_test(a_text_that_is_shorter_than_the_line_number_is_no_error),
		cmocka_unit_test(control_characters_of_the_server_do_not_reach_the_terminal),
		cmocka_unit_test(an_answer_of_another_form_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
