/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sample/copied_stack.h"

#include "tests/support/unit.h"

#define START    UINT64_C(0x7ffc00000000)
#define N_PIECES 4

/* Pieces 0 and 2 are present, piece 1 is not; piece 3 is beyond the end. */
static int setup(void **state)
{
	struct abi_stack_copy *copy = calloc(1, sizeof(*copy) + N_PIECES * ABI_STACK_PIECE_BYTES);

	assert_non_null(copy);
	copy->stack_start = START;
	copy->stack_bytes = 3 * ABI_STACK_PIECE_BYTES;
	copy->present = 1U << 0 | 1U << 2 | 1U << 3;
	for (size_t i = 0; i < N_PIECES * ABI_STACK_PIECE_BYTES; i++)
		copy->stack[i] = (uint8_t)(i / 8);
	*state = copy;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static void copied_bytes_are_read(void **state)
{
	static const uint64_t offsets[] = { 0, 8, ABI_STACK_PIECE_BYTES - 8,
					    2 * ABI_STACK_PIECE_BYTES,
					    3 * ABI_STACK_PIECE_BYTES - 8 };
	const struct abi_stack_copy *copy = *state;
	uint8_t word[8];

	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
		assert_ok(copied_stack_read(copy, START + offsets[i], word, sizeof(word)));
		assert_memory_equal(word, copy->stack + offsets[i], sizeof(word));
	}
}

static void pieces_that_were_not_copied_are_not_read(void **state)
{
	static const uint64_t offsets[] = { ABI_STACK_PIECE_BYTES - 4, ABI_STACK_PIECE_BYTES,
					    2 * ABI_STACK_PIECE_BYTES - 8,
					    2 * ABI_STACK_PIECE_BYTES - 4 };
	uint8_t word[8];

	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++)
		assert_int_equal(copied_stack_read(*state, START + offsets[i], word, sizeof(word)),
				 -1);
}

static void bytes_outside_the_copy_are_not_read(void **state)
{
	static const uint64_t addresses[] = { 0,
					      START - 8,
					      START - 4,
					      START + 3 * ABI_STACK_PIECE_BYTES - 4,
					      START + 3 * ABI_STACK_PIECE_BYTES,
					      UINT64_MAX - 3,
					      UINT64_MAX };
	uint8_t word[8];

	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
		assert_int_equal(copied_stack_read(*state, addresses[i], word, sizeof(word)), -1);
	assert_int_equal(copied_stack_read(*state, START, word, SIZE_MAX), -1);
	assert_int_equal(copied_stack_read(*state, START, word, 0), -1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(copied_bytes_are_read),
		TEST(pieces_that_were_not_copied_are_not_read),
		TEST(bytes_outside_the_copy_are_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
