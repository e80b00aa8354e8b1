/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/list/unresolved_text.h"

#include "symbolizer/cli/list/unresolved_list.h"
#include "symbolizer/cli/print/scoped_json.h"
#include "tests/support/unit.h"

#define ZLIB                                                                                       \
	"{\"file\":\"/usr/lib/"                                                                    \
	"libz.so.1.2.13\",\"build_id\":\"00112233445566778899aabbccddeeff00112233\","              \
	"\"value\":860000,\"share\":0.86,\"reason\":\"stripped\",\"why\":\"The server has a "      \
	"stripped file, with names of exported functions only\",\"remedy\":\"Fetch it\","          \
	"\"command\":\"hearth upload --server http://profiler.example.com:20416 "                  \
	"'/path/to/unstripped/a b'\",\"services\":[\"nginx\",\"curl\"]}"
#define LIBX                                                                                       \
	"{\"file\":\"/usr/lib/libx.so\",\"build_id\":\"ffee\",\"value\":30000,\"share\":0.03,"     \
	"\"reason\":\"stripped\",\"why\":\"The server has a stripped file, with names of "         \
	"exported "                                                                                \
	"functions only\",\"remedy\":\"Fetch it\",\"command\":\"hearth upload x\","                \
	"\"services\":[\"nginx\"]}"
#define JIT                                                                                        \
	"{\"file\":\"[no file]\",\"build_id\":\"\",\"value\":20000,\"share\":0.02,"                \
	"\"reason\":\"no_mapping\",\"why\":\"It was made at run time\",\"remedy\":\"\","           \
	"\"command\":\"\",\"services\":[\"node\"]}"
#define SMALL                                                                                      \
	"{\"file\":\"/opt/small\",\"build_id\":\"aabbccdd\",\"value\":100,\"share\":0.0001,"       \
	"\"reason\":\"outside\",\"why\":\"why\",\"remedy\":\"\",\"command\":\"\",\"services\":[]}"

#define ANSWER(unresolved, files)                                                                  \
	"{\"event\":\"on-cpu\",\"unit\":\"microseconds\",\"total\":1000000,"                       \
	"\"unresolved\":" unresolved ",\"files\":[" files "]}"

static const struct selection_options nginx = { .service = "nginx", .event = EVENT_ON_CPU };
static const struct selection_options everything = { .event = EVENT_ON_CPU };

typedef void (*writer)(const json_t *root, const struct unresolved_text_options *options,
		       struct bytes *out);

static void assert_text(writer write, const char *answer,
			const struct unresolved_text_options *options, const char *expected)
{
	scoped(json_freep) json_t *root = json_loads(answer, 0, NULL);
	struct bytes out = BYTES_INIT(64 * KIB);

	assert_non_null(root);
	write(root, options, &out);
	assert_bytes_equal_text(&out, expected);
	bytes_release(&out);
}

static void the_hint_names_files_and_the_command_that_explains_them(void **state)
{
	static const struct unresolved_text_options options = { .selection = &nginx, .width = 80 };

	(void)state;
	assert_text(unresolved_hint_write, ANSWER("910100", ZLIB "," LIBX "," JIT "," SMALL),
		    &options,
		    "91.0 % has no names:\n"
		    "  86.0 %  libz.so.1.2.13 (stripped file): hearth why libz.so.1.2.13 -S nginx\n"
		    "   3.0 %  libx.so (stripped file): hearth why libx.so -S nginx\n"
		    "   2.0 %  It was made at run time\n");
}

static void a_hint_repeats_the_selection_and_breaks_before_a_long_command(void **state)
{
	static const struct selection_options selection = {
		.service = "my service",
		.event = EVENT_OFF_CPU,
		.range = { .texts = { .last = "5m" } },
	};
	static const struct unresolved_text_options options = {
		.selection = &selection,
		.server = "http://profiler.example.com:20416",
		.width = 80,
	};

	(void)state;
	assert_text(unresolved_hint_write, ANSWER("860000", ZLIB), &options,
		    "86.0 % has no names:\n"
		    "  86.0 %  libz.so.1.2.13 (stripped file):\n"
		    "          hearth why libz.so.1.2.13 -S 'my service' -e off-cpu -l 5m -s \\\n"
		    "            http://profiler.example.com:20416\n");
}

static void there_is_no_hint_below_one_percent(void **state)
{
	static const struct unresolved_text_options options = { .selection = &nginx, .width = 80 };

	(void)state;
	assert_text(unresolved_hint_write, ANSWER("9999", SMALL), &options, "");
	assert_text(unresolved_hint_write, "{\"total\":0,\"unresolved\":0,\"files\":[]}", &options,
		    "");
}

static void the_list_has_reason_remedy_and_a_command_that_a_shell_joins_again(void **state)
{
	static const struct unresolved_text_options options = { .selection = &everything,
								.width = 60 };

	(void)state;
	assert_text(unresolved_list_write, ANSWER("910100", ZLIB "," LIBX "," JIT "," SMALL),
		    &options,
		    "all services, on-cpu: 91.0 % of 1.00 s has no names\n"
		    "\n"
		    "86.0 %  /usr/lib/libz.so.1.2.13 (stripped file)\n"
		    "  build-ID 00112233445566778899aabbccddeeff00112233\n"
		    "  used by  nginx, curl\n"
		    "  why      The server has a stripped file, with names of\n"
		    "           exported functions only\n"
		    "  remedy   Fetch it\n"
		    "             hearth upload --server \\\n"
		    "               http://profiler.example.com:20416 \\\n"
		    "               '/path/to/unstripped/a b'\n"
		    "\n"
		    "3.0 %  /usr/lib/libx.so (stripped file)\n"
		    "  build-ID ffee\n"
		    "  used by  nginx\n"
		    "  remedy   as above\n"
		    "             hearth upload x\n"
		    "\n"
		    "2.0 %  [no file] (made at run time)\n"
		    "  used by  node\n"
		    "  why      It was made at run time\n"
		    "\n"
		    "Other files: 0.0 % together (--rows 0 lists all)\n");
}

static void unlisted_files_are_summed_and_the_message_of_the_server_is_printed(void **state)
{
	static const struct unresolved_text_options options = { .selection = &nginx, .width = 80 };

	(void)state;
	assert_text(unresolved_list_write,
		    "{\"total\":1000000,\"unresolved\":0,\"files\":[],\"message\":\"the symbol "
		    "tables of 2 "
		    "executables are being made\"}",
		    &options,
		    "nginx, on-cpu: 0.0 % of 1.00 s has no names\n"
		    "\n"
		    "the symbol tables of 2 executables are being made\n");
}

static void the_details_of_one_file_are_printed(void **state)
{
	static const struct unresolved_text_options options = { .selection = &nginx,
								.width = 80,
								.now_s = 1700000060 };
	scoped(json_freep) json_t *row = json_loads(LIBX, 0, NULL);
	scoped(json_freep) json_t *status = json_loads(
		"{\"files\":[{\"has\":\"symbols\",\"executable\":true,\"origin\":\"agent\","
		"\"size_bytes\":2048,\"uploaded_time\":1700000000}],"
		"\"table\":{\"status\":\"ready\",\"functions\":85,\"sources\":[\"dynsym\",\"plt\"],"
		"\"why\":\"It lacks something\"},"
		"\"looked_for\":{\"upstream\":true,\"upstream_misses\":2,\"agents_again_time\":0}}",
		0, NULL);
	struct bytes out = BYTES_INIT(64 * KIB);

	(void)state;
	unresolved_file_write(row, status, &options, &out);
	assert_bytes_equal_text(
		&out,
		"\n"
		"3.0 %  /usr/lib/libx.so (stripped file)\n"
		"  build-ID ffee\n"
		"  used by  nginx\n"
		"  why      The server has a stripped file, with names of exported functions only\n"
		"  stored   symbols and code from agent, 2.00 KiB, 60 s ago\n"
		"  table    ready, 85 functions from dynsym, plt. It lacks something\n"
		"  upstream queried 2 times without success\n"
		"  agents   none was asked for it since the server started\n"
		"  remedy   Fetch it\n"
		"             hearth upload x\n");
	bytes_release(&out);
}

static void control_characters_of_the_server_are_replaced(void **state)
{
	static const struct unresolved_text_options options = { .selection = &nginx, .width = 80 };
	scoped(json_freep) json_t *root = json_loads(
		ANSWER("500000", "{\"file\":\"/opt/a\\u001b[2Jb\",\"build_id\":\"\","
				 "\"value\":500000,\"share\":0.5,\"reason\":\"stripped\"}"),
		0, NULL);
	struct bytes out = BYTES_INIT(64 * KIB);

	(void)state;
	unresolved_hint_write(root, &options, &out);
	unresolved_list_write(root, &options, &out);
	assert_null(memchr(out.data, '\033', out.size));
	bytes_release(&out);
}

static void a_file_matches_by_path_name_or_prefix_of_its_build_id(void **state)
{
	static const struct {
		const char *text;
		bool meant;
	} cases[] = {
		{ "/usr/lib/libz.so.1.2.13", true },
		{ "libz.so.1.2.13", true },
		{ "0011", true },
		{ "00112233445566778899aabbccddeeff00112233", true },
		{ "001", false },
		{ "libz", false },
		{ "", false },
		{ "1122", false },
	};
	scoped(json_freep) json_t *row = json_loads(ZLIB, 0, NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(unresolved_matches(row, cases[i].text), cases[i].meant);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_hint_names_files_and_the_command_that_explains_them),
		cmocka_unit_test(a_hint_repeats_the_selection_and_breaks_before_a_long_command),
		cmocka_unit_test(there_is_no_hint_below_one_percent),
		cmocka_unit_test(the_list_has_reason_remedy_and_a_command_that_a_shell_joins_again),
		cmocka_unit_test(
			unlisted_files_are_summed_and_the_message_of_the_server_is_printed),
		cmocka_unit_test(the_details_of_one_file_are_printed),
		cmocka_unit_test(control_characters_of_the_server_are_replaced),
		cmocka_unit_test(a_file_matches_by_path_name_or_prefix_of_its_build_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
