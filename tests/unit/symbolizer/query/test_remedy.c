/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/remedy.h"

#include "tests/support/unit.h"

#define BUILD_ID "0123456789abcdef"

static void find(enum frame_status reason, unsigned int facts, const char *path,
		 struct remedy *ret_remedy)
{
	const struct remedy_case about = {
		.reason = reason,
		.facts = facts,
		.path = path,
		.build_id = BUILD_ID,
		.table_why = "",
		.server = "",
	};

	remedy_find(&about, ret_remedy);
}

static void a_command_matches_the_facts(void **state)
{
	static const struct {
		enum frame_status reason;
		unsigned int facts;
		const char *path, *command;
	} cases[] = {
		{ FRAME_STRIPPED, REMEDY_FILE | REMEDY_ID, "/opt/app/libz.so.1",
		  "hearth upload /path/to/unstripped/libz.so.1" },
		{ FRAME_STRIPPED, REMEDY_FILE | REMEDY_ID | REMEDY_PACKAGED, "/usr/lib/libz.so.1",
		  "hearth upload \"$(DEBUGINFOD_URLS=https://debuginfod.debian.net "
		  "debuginfod-find debuginfo " BUILD_ID ")\"" },
		{ FRAME_STRIPPED,
		  REMEDY_FILE | REMEDY_ID | REMEDY_PACKAGED | REMEDY_UPSTREAM | REMEDY_LACKED,
		  "/usr/lib/libz.so.1", "hearth upload /path/to/unstripped/libz.so.1" },
		{ FRAME_NO_DEBUGINFO, REMEDY_FILE | REMEDY_ID | REMEDY_KERNEL, "[kernel]",
		  "hearth upload \"/usr/lib/debug/boot/vmlinux-$(uname -r)\"" },
		{ FRAME_NO_DEBUGINFO, REMEDY_FILE | REMEDY_ID | REMEDY_KERNEL | REMEDY_MODULE,
		  "ext4", "hearth upload --recursive \"/usr/lib/debug/lib/modules/$(uname -r)\"" },
		{ FRAME_NO_DEBUGINFO, REMEDY_FILE, "/opt/app", "" },
		{ FRAME_TABLE_FAILED, REMEDY_FILE | REMEDY_ID, "/opt/app",
		  "hearth upload --force /path/to/unstripped/app" },
		{ FRAME_TABLE_PENDING, REMEDY_FILE | REMEDY_ID, "/opt/app", "" },
		{ FRAME_OUTSIDE, REMEDY_FILE | REMEDY_ID | REMEDY_LINES, "/opt/app", "" },
		{ FRAME_NO_MAPPING, 0, "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct remedy remedy;

		find(cases[i].reason, cases[i].facts, cases[i].path, &remedy);
		assert_string_equal(remedy.command, cases[i].command);
		assert_string_not_equal(remedy.why, "");
	}
}

static void every_reason_matches_a_row_with_any_facts(void **state)
{
	(void)state;
	for (unsigned int facts = 0; facts < REMEDY_LINES << 1; facts++) {
		for (int reason = FRAME_NAMED + 1; reason <= FRAME_NO_MAPPING; reason++) {
			struct remedy remedy = {};

			find((enum frame_status)reason, facts, "/opt/app", &remedy);
			assert_string_not_equal(remedy.why, "");
		}
	}
}

static void code_generated_at_run_time_has_no_names_yet(void **state)
{
	struct remedy remedy;

	(void)state;
	find(FRAME_NO_MAPPING, 0, "", &remedy);
	assert_non_null(strstr(remedy.remedy, "JIT"));
	assert_non_null(strstr(remedy.remedy, "not read yet"));
}

static void the_longest_server_name_fits_into_a_command(void **state)
{
	char server[REMEDY_SERVER_SIZE] = "https://", expected[REMEDY_COMMAND_SIZE];
	const struct remedy_case about = {
		.reason = FRAME_STRIPPED,
		.facts = REMEDY_FILE | REMEDY_ID,
		.path = "/opt/app",
		.build_id = BUILD_ID,
		.table_why = "",
		.server = server,
	};
	size_t used = strlen(server);
	struct remedy remedy;

	(void)state;
	memset(server + used, 'h', sizeof(server) - 1 - used);
	remedy_find(&about, &remedy);
	(void)snprintf(expected, sizeof(expected),
		       "hearth upload --server %s /path/to/unstripped/app", server);
	assert_string_equal(remedy.command, expected);
	/* The path needs quotes. */
	server[sizeof(server) - 2] = ']';
	remedy_find(&about, &remedy);
	(void)snprintf(expected, sizeof(expected),
		       "hearth upload --server '%s' /path/to/unstripped/app", server);
	assert_string_equal(remedy.command, expected);
}

static void a_failed_table_has_its_reason(void **state)
{
	const struct remedy_case about = {
		.reason = FRAME_TABLE_FAILED,
		.facts = REMEDY_FILE | REMEDY_ID,
		.path = "/opt/app",
		.build_id = BUILD_ID,
		.table_why = "it is no ELF file",
		.server = "",
	};
	struct remedy remedy;

	(void)state;
	remedy_find(&about, &remedy);
	assert_string_equal(remedy.why,
			    "No symbol table can be made from the uploaded file: it is no ELF "
			    "file");
}

static void text_from_outside_stays_one_word_of_the_command(void **state)
{
	const struct remedy_case about = {
		.reason = FRAME_STRIPPED,
		.facts = REMEDY_FILE | REMEDY_ID,
		.path = "/opt/a b;$(reboot)'",
		.build_id = BUILD_ID,
		.table_why = "",
		.server = "http://a&b",
	};
	struct remedy remedy;

	(void)state;
	remedy_find(&about, &remedy);
	assert_string_equal(remedy.command, "hearth upload --server 'http://a&b' "
					    "'/path/to/unstripped/a b;$(reboot)'\\'''");
}

static void a_packaged_file_has_a_system_path_and_a_build_id(void **state)
{
	static const struct {
		enum executable_id_kind kind;
		enum executable_role role;
		const char *path;
		unsigned int facts;
	} cases[] = {
		{ EXECUTABLE_ID_GNU, ROLE_USER, "/usr/lib/libz.so.1",
		  REMEDY_FILE | REMEDY_ID | REMEDY_PACKAGED },
		{ EXECUTABLE_ID_GNU, ROLE_USER, "/usr/local/lib/libz.so.1",
		  REMEDY_FILE | REMEDY_ID },
		{ EXECUTABLE_ID_GNU, ROLE_USER, "/library/libz.so.1", REMEDY_FILE | REMEDY_ID },
		{ EXECUTABLE_ID_TEXT, ROLE_USER, "/usr/lib/libz.so.1", REMEDY_FILE | REMEDY_ID },
		{ EXECUTABLE_ID_NONE, ROLE_USER, "/usr/lib/libz.so.1", REMEDY_FILE },
		{ EXECUTABLE_ID_GNU, ROLE_KERNEL, "[kernel]",
		  REMEDY_FILE | REMEDY_ID | REMEDY_KERNEL },
		{ EXECUTABLE_ID_GNU, ROLE_KERNEL_MODULE, "ext4",
		  REMEDY_FILE | REMEDY_ID | REMEDY_KERNEL | REMEDY_MODULE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct store_executable executable = {
			.identity = { .kind = (uint8_t)cases[i].kind }, .role = cases[i].role
		};

		assert_int_equal(remedy_facts_of_file(&executable, cases[i].path, false),
				 cases[i].facts);
	}
	assert_int_equal(remedy_facts_of_file(NULL, "", true), REMEDY_KERNEL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_command_matches_the_facts),
		cmocka_unit_test(every_reason_matches_a_row_with_any_facts),
		cmocka_unit_test(code_generated_at_run_time_has_no_names_yet),
		cmocka_unit_test(the_longest_server_name_fits_into_a_command),
		cmocka_unit_test(a_failed_table_has_its_reason),
		cmocka_unit_test(text_from_outside_stays_one_word_of_the_command),
		cmocka_unit_test(a_packaged_file_has_a_system_path_and_a_build_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
