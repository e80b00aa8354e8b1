/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/list/sum_list.h"

#include "symbolizer/cli/print/scoped_json.h"
#include "tests/support/unit.h"

static const char processes[] =
	"{\"processes\":["
	"{\"pid\":1234,\"name\":\"nginx\",\"host\":\"web-1\",\"value\":6000000,\"threads\":2,"
	" \"labels\":{\"service\":\"nginx.service\"}},"
	"{\"pid\":7,\"name\":\"redis\",\"host\":\"a-host-with-a-very-long-name.example.com\","
	" \"value\":3000000,\"threads\":14,\"labels\":{\"service\":\"redis\"}}],"
	"\"count\":5,\"total\":10000000}";

static const char groups[] =
	"{\"groups\":["
	"{\"name\":\"web-1\",\"value\":6000000,\"processes\":12,\"threads\":20},"
	"{\"name\":null,\"value\":4000000,\"processes\":1,\"threads\":1}],"
	"\"count\":2,\"total\":10000000}";

static void expect(const char *answer_text, const char *by, int width, const char *expected)
{
	const struct selection_options selection = { .event = EVENT_ON_CPU, .by = by };
	const struct sum_options options = { .selection = &selection, .width = width };
	scoped(json_freep) json_t *answer = json_loads(answer_text, 0, NULL);
	struct bytes out = BYTES_INIT(KIB);

	assert_non_null(answer);
	assert_ok(sum_text_write(answer, &options, &out));
	assert_bytes_equal_text(&out, expected);
	bytes_release(&out);
}

static void processes_fit_80_columns_and_unlisted_ones_are_counted(void **state)
{
	(void)state;
	expect(processes, NULL, 80,
	       "     pid  process  host                CPU time    share  threads  service\n"
	       "    1234  nginx    web-1                 6.00 s   60.0 %        2  nginx.service\n"
	       "       7  redis    a-host-w…ple.com      3.00 s   30.0 %       14  \n"
	       "3 more with 1.00 s (10.0 %); --rows 0 lists them\n");
}

static void processes_without_the_tag_have_one_row(void **state)
{
	(void)state;
	expect(groups, "host", 80,
	       "host      CPU time    share  processes  threads\n"
	       "web-1       6.00 s   60.0 %         12       20\n"
	       "(none)      4.00 s   40.0 %          1        1\n");
}

static void an_answer_of_another_form_is_refused(void **state)
{
	const struct selection_options selection = { .event = EVENT_ON_CPU };
	const struct sum_options options = { .selection = &selection, .width = 80 };
	scoped(json_freep) json_t *answer = json_loads(groups, 0, NULL);
	struct bytes out = BYTES_INIT(KIB);

	(void)state;
	assert_int_equal(sum_text_write(answer, &options, &out), -EBADMSG);
	assert_int_equal(sum_text_write(NULL, &options, &out), -EBADMSG);
	bytes_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_fit_80_columns_and_unlisted_ones_are_counted),
		cmocka_unit_test(processes_without_the_tag_have_one_row),
		cmocka_unit_test(an_answer_of_another_form_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
