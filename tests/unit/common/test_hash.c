/* SPDX-License-Identifier: Apache-2.0 */
#include "common/hash.h"

#include "tests/support/unit.h"

/* XXH3 of no bytes with seed 0, from the tests of the reference implementation. */
static void hashes_are_xxh3_in_canonical_order(void **state)
{
	struct hash128 empty = hash128_of("", 0);
	char text[33];

	(void)state;
	hex_encode(empty.bytes, sizeof(empty.bytes), text);
	assert_string_equal(text, "99aa06d3014798d86001c324468d497f");
	assert_true(hash64_of("", 0) == UINT64_C(0x2d06800538d394c2));
}

static void hex_of_either_case_is_decoded(void **state)
{
	uint8_t bytes[3];
	char text[7];

	(void)state;
	hex_encode("\x00\xaB\xff", 3, text);
	assert_string_equal(text, "00abff");
	assert_int_equal(hex_decode("00aBFf", 6, bytes, sizeof(bytes)), 3);
	assert_memory_equal(bytes, "\x00\xab\xff", 3);
	assert_int_equal(hex_decode("", 0, bytes, sizeof(bytes)), 0);
}

static void invalid_hex_is_refused_and_changes_nothing(void **state)
{
	static const struct {
		const char *text;
		int error;
	} cases[] = {
		{ "a", -EINVAL },    { "abc", -EINVAL },  { "0g", -EINVAL },
		{ "0x12", -EINVAL }, { "00 1", -EINVAL }, { "00112233", -ENOSPC },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t bytes[3] = { 1, 2, 3 };

		assert_errno(hex_decode(cases[i].text, strlen(cases[i].text), bytes, 3),
			     cases[i].error);
		assert_memory_equal(bytes, "\1\2\3", 3);
	}
}

static void every_seed_is_different_and_changes_the_hash(void **state)
{
	uint64_t first = hash_seed();
	uint64_t second = hash_seed();

	(void)state;
	assert_true(first != second);
	assert_true(hash64_seeded("name", 4, first) != hash64_seeded("name", 4, second));
	assert_true(hash64_seeded("name", 4, 0) == hash64_of("name", 4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hashes_are_xxh3_in_canonical_order),
		cmocka_unit_test(hex_of_either_case_is_decoded),
		cmocka_unit_test(every_seed_is_different_and_changes_the_hash),
		cmocka_unit_test(invalid_hex_is_refused_and_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
