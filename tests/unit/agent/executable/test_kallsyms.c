/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/executable/kallsyms.h"

#include "tests/support/unit.h"

static void lines_become_symbols_and_malformed_lines_are_skipped(void **state)
{
	static const char text[] = "ffffffff81000000 T _text\n"
				   "no symbol\n"
				   "\n"
				   "ffffffff81000010 t local.cold\n"
				   "FFFF T upper_case_hex\n"
				   "0000000000000000 A fixed_percpu_data\n"
				   "ffffffffc0201000 t bpf_prog_0123_name\t[bpf]\n"
				   "ffffffffc0301000 T ext4_init\t[ext4]\n"
				   "ffffffffc0301000 T\n"
				   "ffffffffc0302000 w last_without_end";
	static const struct {
		uint64_t address;
		char type;
		const char *name, *owner;
		bool is_text;
	} expected[] = {
		{ 0xffffffff81000000, 'T', "_text", "", true },
		{ 0xffffffff81000010, 't', "local.cold", "", true },
		{ 0, 'A', "fixed_percpu_data", "", false },
		{ 0xffffffffc0201000, 't', "bpf_prog_0123_name", "bpf", true },
		{ 0xffffffffc0301000, 'T', "ext4_init", "ext4", true },
	};
	scoped_free char *path = write_file_in(*state, "kallsyms", text, strlen(text));
	scoped(kallsyms_closep) struct kallsyms *kallsyms = NULL;
	struct kallsyms_symbol symbol;

	assert_ok(kallsyms_open(path, &kallsyms));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_int_equal(kallsyms_next(kallsyms, &symbol), 1);
		assert_int_equal(symbol.address, expected[i].address);
		assert_int_equal(symbol.type, expected[i].type);
		assert_string_equal(symbol.name, expected[i].name);
		assert_string_equal(symbol.owner, expected[i].owner);
		assert_int_equal(kallsyms_is_text(&symbol), expected[i].is_text);
	}
	assert_int_equal(kallsyms_next(kallsyms, &symbol), 0);
}

static void too_long_names_and_lines_are_skipped_completely(void **state)
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(MIB);
	scoped(kallsyms_closep) struct kallsyms *kallsyms = NULL;
	struct kallsyms_symbol symbol;
	scoped_free char *path = NULL;

	assert_ok(bytes_append_text(&text, "1000 T before\n2000 T "));
	for (size_t i = 0; i < KALLSYMS_NAME_SIZE; i++)
		assert_ok(bytes_append_byte(&text, 'n'));
	assert_ok(bytes_append_text(&text, "\n3000 T between\n4000 T "));
	for (size_t i = 0; i < 200 * KIB; i++)
		assert_ok(bytes_append_byte(&text, 'l'));
	assert_ok(bytes_append_text(&text, "\n5000 T after\n"));
	path = write_file_in(*state, "kallsyms", text.data, text.size);

	assert_ok(kallsyms_open(path, &kallsyms));
	for (size_t i = 0; i < 3; i++) {
		static const char *const names[] = { "before", "between", "after" };

		assert_int_equal(kallsyms_next(kallsyms, &symbol), 1);
		assert_string_equal(symbol.name, names[i]);
	}
	assert_int_equal(kallsyms_next(kallsyms, &symbol), 0);
}

static void lines_that_cross_the_end_of_the_buffer_are_read(void **state)
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(4 * MIB);
	scoped(kallsyms_closep) struct kallsyms *kallsyms = NULL;
	struct kallsyms_symbol symbol;
	scoped_free char *path = NULL;
	char name[32];

	for (unsigned int i = 0; i < 20000; i++)
		assert_ok(bytes_append_format(&text, "%016x t symbol_%u\n", i + 1, i * 7919));
	path = write_file_in(*state, "kallsyms", text.data, text.size);
	assert_ok(kallsyms_open(path, &kallsyms));
	for (unsigned int i = 0; i < 20000; i++) {
		assert_int_equal(kallsyms_next(kallsyms, &symbol), 1);
		(void)snprintf(name, sizeof(name), "symbol_%u", i * 7919);
		assert_string_equal(symbol.name, name);
		assert_int_equal(symbol.address, i + 1);
	}
	assert_int_equal(kallsyms_next(kallsyms, &symbol), 0);
}

static void a_missing_file_is_an_error(void **state)
{
	struct kallsyms *kallsyms = NULL;

	(void)state;
	assert_errno(kallsyms_open("/nonexistent", &kallsyms), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(lines_become_symbols_and_malformed_lines_are_skipped),
		in_folder(too_long_names_and_lines_are_skipped_completely),
		in_folder(lines_that_cross_the_end_of_the_buffer_are_read),
		cmocka_unit_test(a_missing_file_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
