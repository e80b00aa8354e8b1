/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/list/debuginfo_list.h"

#include "symbolizer/cli/print/scoped_json.h"
#include "tests/support/unit.h"

#define ID "00112233445566778899aabbccddeeff00112233"

static const char rows_text[] =
	"[{\"build_id\":\"" ID
	"\",\"file\":\"a-library-with-a-long-name.so.1\",\"origin\":\"agent\","
	"\"has\":\"symbols\",\"executable\":true,\"size_bytes\":2048,\"uploaded_time\":1700000000,"
	"\"last_used_time\":1700000030},"
	"{\"build_id\":\"0011aa\",\"origin\":\"pipeline\",\"has\":\"dwarf\",\"size_bytes\":5,"
	"\"uploaded_time\":1700000000,\"last_used_time\":0},"
	"{\"build_id\":\"0022aa\",\"origin\":\"agent\",\"has\":\"embedded\",\"size_bytes\":7,"
	"\"uploaded_time\":1700000000,\"last_used_time\":0}]";

static void assert_list(int width, const char *expected)
{
	scoped(json_freep) json_t *rows = json_loads(rows_text, 0, NULL);
	struct bytes out = BYTES_INIT(64 * KIB);

	assert_non_null(rows);
	debuginfo_list_write(rows, width, 1700000060, &out);
	assert_bytes_equal_text(&out, expected);
	bytes_release(&out);
}

static void eighty_columns_show_names_and_prefixes_of_build_ids(void **state)
{
	(void)state;
	assert_list(80, "file                build-ID      from        has         "
			"       size  last used\n"
			"a-library…ame.so.1  001122334455  agent       code, symbol"
			"s  2.00 KiB  30 s ago\n"
			"-                   0011aa        pipeline    DWARF       "
			"        5 B  never\n"
			"-                   0022aa        agent       functions   "
			"        7 B  never\n");
}

static void wide_terminals_show_whole_build_ids_and_the_time_of_upload(void **state)
{
	(void)state;
	assert_list(120, "file                 build-ID                             "
			 "     from        has                size  uploaded   last used\n"
			 "a-library…name.so.1  00112233445566778899aabbccddeeff00112"
			 "233  agent       code, symbols  2.00 KiB  60 s ago   30 s ago\n"
			 "-                    0011aa                               "
			 "     pipeline    DWARF               5 B  60 s ago   never\n"
			 "-                    0022aa                               "
			 "     agent       functions           7 B  60 s ago   never\n");
}

static void a_build_id_is_found_by_a_unique_prefix(void **state)
{
	static const struct {
		const char *text;
		int result;
		const char *id;
	} cases[] = {
		{ "00112", 1, ID },          { "0011AA", 1, "0011aa" }, { ID, 1, ID },
		{ "0011", -ENOTUNIQ, NULL }, { "ffff", 0, NULL },
	};
	scoped(json_freep) json_t *rows = json_loads(rows_text, 0, NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *id = NULL;

		assert_int_equal(debuginfo_list_find(rows, cases[i].text, &id), cases[i].result);
		if (cases[i].id)
			assert_string_equal(id, cases[i].id);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(eighty_columns_show_names_and_prefixes_of_build_ids),
		cmocka_unit_test(wide_terminals_show_whole_build_ids_and_the_time_of_upload),
		cmocka_unit_test(a_build_id_is_found_by_a_unique_prefix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
