/* SPDX-License-Identifier: Apache-2.0 */
#include "common/executable_id.h"

#include "tests/support/unit.h"

static void text_forms_are_parsed_to_the_same_ids(void **state)
{
	static const struct {
		unsigned int kind;
		const char *bytes, *text;
	} cases[] = {
		{ EXECUTABLE_ID_GNU, "\xde\xad\xbe\xef", "deadbeef" },
		{ EXECUTABLE_ID_GO, "ab/c", "go-61622f63" },
		{ EXECUTABLE_ID_TEXT, "\x01\x02", "text-0102" },
		{ EXECUTABLE_ID_HTLHASH, "0123456789abcdef",
		  "htlhash-30313233343536373839616263646566" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[EXECUTABLE_ID_TEXT_SIZE];
		struct executable_id id, parsed;

		assert_ok(executable_id_set(&id, cases[i].kind, cases[i].bytes,
					    strlen(cases[i].bytes)));
		executable_id_format(&id, text);
		assert_string_equal(text, cases[i].text);
		assert_ok(executable_id_parse(text, &parsed));
		assert_true(executable_id_equal(&id, &parsed));
		assert_memory_equal(&id, &parsed, sizeof(id));
	}
}

static void the_text_of_the_longest_id_fits(void **state)
{
	uint8_t bytes[EXECUTABLE_ID_MAX_BYTES + 1];
	char text[EXECUTABLE_ID_TEXT_SIZE];
	struct executable_id id;

	(void)state;
	memset(bytes, 0xab, sizeof(bytes));
	assert_ok(executable_id_set(&id, EXECUTABLE_ID_TEXT, bytes, EXECUTABLE_ID_MAX_BYTES));
	executable_id_format(&id, text);
	assert_int_equal(strlen(text), EXECUTABLE_ID_TEXT_SIZE - 1);
}

static void bad_ids_are_refused_and_change_nothing(void **state)
{
	static const uint8_t bytes[EXECUTABLE_ID_MAX_BYTES + 1];
	static const struct {
		unsigned int kind;
		size_t size;
	} cases[] = {
		{ EXECUTABLE_ID_NONE, 20 },
		{ EXECUTABLE_ID_GNU, 0 },
		{ EXECUTABLE_ID_GNU, 3 },
		{ EXECUTABLE_ID_GO, 0 },
		{ EXECUTABLE_ID_GNU, EXECUTABLE_ID_MAX_BYTES + 1 },
		{ EXECUTABLE_ID_HTLHASH, 15 },
		{ EXECUTABLE_ID_HTLHASH, 20 },
		{ EXECUTABLE_ID_KIND_END, 20 },
		{ UINT32_MAX, 20 },
		/* EXECUTABLE_ID_GNU, if only the low 8 bits were checked. */
		{ 256 + EXECUTABLE_ID_GNU, 20 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct executable_id id = { .kind = 77 };

		assert_errno(executable_id_set(&id, cases[i].kind, bytes, cases[i].size), -EINVAL);
		assert_int_equal(id.kind, 77);
	}
}

static void other_texts_than_ids_are_refused(void **state)
{
	static const char *const cases[] = {
		"",
		"abc",
		"abcdef",
		"../../etc/passwd",
		"deadbeef/..",
		"deadbee.",
		"dead beef",
		"go-",
		"text-",
		"go-deadbeefx",
		"GO-616263",
		"text-go-12",
		"htlhash-",
		"htlhash-303132333435363738396162636465",
		"-deadbeef",
		"deadbeef\n",
		"0xdeadbeef",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct executable_id id = { .kind = 77 };

		assert_errno(executable_id_parse(cases[i], &id), -EINVAL);
		assert_int_equal(id.kind, 77);
	}
}

static void upper_case_hex_is_the_same_id(void **state)
{
	struct executable_id lower, upper;

	(void)state;
	assert_ok(executable_id_parse("deadbeef", &lower));
	assert_ok(executable_id_parse("DEADBEEF", &upper));
	assert_true(executable_id_equal(&lower, &upper));
}

static void equal_bytes_of_different_kinds_are_different_ids(void **state)
{
	struct executable_id gnu, go;

	(void)state;
	assert_ok(executable_id_parse("deadbeef", &gnu));
	assert_ok(executable_id_parse("go-deadbeef", &go));
	assert_false(executable_id_equal(&gnu, &go));
}

static void the_text_of_no_id_is_empty(void **state)
{
	char text[EXECUTABLE_ID_TEXT_SIZE] = "x";
	struct executable_id none = {};

	(void)state;
	executable_id_format(&none, text);
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_forms_are_parsed_to_the_same_ids),
		cmocka_unit_test(the_text_of_the_longest_id_fits),
		cmocka_unit_test(bad_ids_are_refused_and_change_nothing),
		cmocka_unit_test(other_texts_than_ids_are_refused),
		cmocka_unit_test(upper_case_hex_is_the_same_id),
		cmocka_unit_test(equal_bytes_of_different_kinds_are_different_ids),
		cmocka_unit_test(the_text_of_no_id_is_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
