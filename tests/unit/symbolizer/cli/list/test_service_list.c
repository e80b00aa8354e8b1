/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/list/service_list.h"

#include "symbolizer/cli/print/scoped_json.h"
#include "tests/support/unit.h"

#define NOW_S UINT64_C(1700000060)

static const char services_answer[] =
	"{\"services\":["
	"{\"name\":\"a;b\",\"event\":\"on-cpu\",\"last_time\":1700000000,"
	"\"hosts\":1,\"processes\":1},"
	"{\"name\":\"java\",\"event\":\"off-cpu\",\"last_time\":1700000059,"
	"\"hosts\":3,\"processes\":4},"
	"{\"name\":\"java\",\"event\":\"on-cpu\",\"last_time\":1700000000,"
	"\"hosts\":2,\"processes\":5},"
	"{\"name\":\"nginx\",\"event\":\"on-cpu\",\"last_time\":1700000060,"
	"\"hosts\":1,\"processes\":1},"
	"{\"name\":\"sleeper\",\"event\":\"off-cpu\",\"last_time\":1700000000,\"hosts\":1,"
	"\"processes\":1}],\"since\":1,\"until\":2}";

/* "left-out" is a process without stacks: the total includes it, but it is no service. */
static const char top_answer[] =
	"{\"functions\":["
	"{\"function\":\"[p] nginx\",\"type\":\"P\","
	"\"self_value\":9000000,\"total_value\":9000000},"
	"{\"function\":\"[p] java\",\"type\":\"P\",\"self_value\":1,\"total_value\":60000000},"
	"{\"function\":\"[p] left-out\",\"type\":\"P\",\"self_value\":1,\"total_value\":30000000},"
	"{\"function\":\"[p] a:b\",\"type\":\"P\",\"self_value\":1,\"total_value\":1000000}],"
	"\"stats\":{\"total\":100000000}}";

static void make_list(const char *services_text, const char *top_text, struct service_list *list)
{
	scoped(json_freep) json_t *services = json_loads(services_text, 0, NULL);
	scoped(json_freep) json_t *top = json_loads(top_text, 0, NULL);

	assert_ok(service_list_make(services, top, list));
}

static void services_are_sorted_by_the_cpu_time_of_all_their_threads(void **state)
{
	scoped_service_list struct service_list list = {};

	(void)state;
	make_list(services_answer, top_answer, &list);
	assert_int_equal(list.count, 4);
	assert_int_equal(list.cpu_total_us, 100000000);
	assert_string_equal(list.rows[0].name, "java");
	assert_string_equal(list.rows[0].events, "off-cpu, on-cpu");
	assert_int_equal(list.rows[0].cpu_us, 60000000);
	assert_int_equal(list.rows[0].n_hosts, 3);
	assert_int_equal(list.rows[0].n_processes, 5);
	assert_int_equal(list.rows[0].last_s, 1700000059);
	assert_string_equal(list.rows[1].name, "nginx");
	assert_string_equal(list.rows[2].name, "a;b");
	assert_int_equal(list.rows[2].cpu_us, 1000000);
	assert_string_equal(list.rows[3].name, "sleeper");
	assert_int_equal(list.rows[3].cpu_us, 0);
}

static void assert_text(const struct service_list *list, int width, bool all, const char *expected)
{
	struct service_text_options options = { .width = width, .all = all, .now_s = NOW_S };
	struct bytes out = BYTES_INIT(64 * KIB);

	assert_ok(service_text_write(list, &options, &out));
	assert_bytes_equal_text(&out, expected);
	bytes_release(&out);
}

static void services_without_cpu_time_are_counted_in_one_line_unless_all_are_listed(void **state)
{
	scoped_service_list struct service_list list = {};

	(void)state;
	make_list(services_answer, top_answer, &list);
	assert_text(&list, 80, false,
		    "service    CPU time    share  hosts  processes  last sample  events\n"
		    "java            1 m   60.0 %      3          5  just now     off-cpu, on-cpu\n"
		    "nginx        9.00 s    9.0 %      1          1  just now     on-cpu\n"
		    "a;b          1.00 s    1.0 %      1          1  60 s ago     on-cpu\n"
		    "1 other without CPU time; --all lists them\n");
	assert_text(&list, 68, true,
		    "service    CPU time    share  hosts  processes  last sample  events\n"
		    "java            1 m   60.0 %      3          5  just now     off…cpu\n"
		    "nginx        9.00 s    9.0 %      1          1  just now     on-cpu\n"
		    "a;b          1.00 s    1.0 %      1          1  60 s ago     on-cpu\n"
		    "sleeper           -               1          1  60 s ago     off-cpu\n");
}

/* For example after the installation of packages: a hundred names with one sample each. */
static void services_below_0_05_percent_are_only_counted_except_the_ten_largest(void **state)
{
	struct service_row rows[100];
	struct service_list list = { .rows = rows, .count = 100, .cpu_total_us = 300000000 };
	struct service_text_options options = { .width = 120, .now_s = NOW_S };
	struct bytes out = BYTES_INIT(64 * KIB);
	size_t n_lines = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		rows[i] = (struct service_row){ .name = "postinst", .cpu_us = 10000 };
	assert_ok(service_text_write(&list, &options, &out));
	for (size_t i = 0; i < out.size; i++)
		n_lines += out.data[i] == '\n';
	assert_int_equal(n_lines, 1 + SERVICE_MIN_ROWS + 1);
	assert_non_null(memmem(out.data, out.size,
			       "\n90 others with 900 ms (0.3 %) together; --all lists them\n", 58));
	bytes_release(&out);
}

static void all_services_are_listed_if_none_has_cpu_time(void **state)
{
	scoped_service_list struct service_list list = {};

	(void)state;
	make_list("{\"services\":[{\"name\":\"app\",\"event\":\"mem-alloc\","
		  "\"last_time\":1700000000,\"hosts\":1,\"processes\":2}]}",
		  "{\"functions\":[],\"stats\":{\"total\":0}}", &list);
	assert_text(&list, 80, false,
		    "service    CPU time    share  hosts  processes  last sample  events\n"
		    "app               -               1          2  60 s ago     mem-alloc\n");
}

static void json_has_the_rows_of_the_server_sorted_and_with_cpu_time(void **state)
{
	scoped_service_list struct service_list list = {};
	scoped(json_freep) json_t *root = NULL;
	struct bytes out = BYTES_INIT(64 * KIB);
	const json_t *rows, *row;

	(void)state;
	make_list(services_answer, top_answer, &list);
	assert_ok(service_json_write(&list, &out));
	root = json_loadb((const char *)out.data, out.size, 0, NULL);
	bytes_release(&out);
	rows = json_object_get(root, "services");
	assert_int_equal(json_array_size(rows), 5);
	row = json_array_get(rows, 1);
	assert_string_equal(json_string_value(json_object_get(row, "name")), "java");
	assert_string_equal(json_string_value(json_object_get(row, "event")), "on-cpu");
	assert_int_equal(json_integer_value(json_object_get(row, "hosts")), 2);
	assert_int_equal(json_integer_value(json_object_get(row, "cpu_value")), 60000000);
	assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 2), "name")),
			    "nginx");
	assert_int_equal(json_integer_value(json_object_get(root, "cpu_total")), 100000000);
	assert_int_equal(json_integer_value(json_object_get(root, "until")), 2);
}

static void answers_of_another_form_are_refused(void **state)
{
	static const char *const cases[][2] = {
		{ "{\"services\":[]}", "{}" },
		{ "{\"services\":{}}", "{\"functions\":[]}" },
		{ "[]", "{\"functions\":[]}" },
		{ "{\"services\":[]}", "[]" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(json_freep) json_t *services = json_loads(cases[i][0], 0, NULL);
		scoped(json_freep) json_t *top = json_loads(cases[i][1], 0, NULL);
		struct service_list list = {};

		assert_errno(service_list_make(services, top, &list), -EBADMSG);
	}
	assert_errno(service_list_make(NULL, NULL, &(struct service_list){}), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(services_are_sorted_by_the_cpu_time_of_all_their_threads),
		cmocka_unit_test(
			services_without_cpu_time_are_counted_in_one_line_unless_all_are_listed),
		cmocka_unit_test(
			services_below_0_05_percent_are_only_counted_except_the_ten_largest),
		cmocka_unit_test(all_services_are_listed_if_none_has_cpu_time),
		cmocka_unit_test(json_has_the_rows_of_the_server_sorted_and_with_cpu_time),
		cmocka_unit_test(answers_of_another_form_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
