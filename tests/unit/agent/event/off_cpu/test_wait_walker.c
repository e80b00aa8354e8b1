/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/event/off_cpu/wait_walker.h"

#include <stddef.h>

#include "tests/support/unit.h"

#define HEADER_BYTES  sizeof(struct abi_sample)
#define COPY_BYTES    sizeof(struct abi_stack_copy)
#define RECORDS_BYTES (2 * (COPY_BYTES + ABI_WALKED_STACK_BYTES))

/*
 * Records as a walk returns them: a wait with a known stack, one with a copy of 256 bytes, and
 * another one.
 */
static struct bytes_view fill(uint8_t *buffer)
{
	struct abi_sample *first = (struct abi_sample *)buffer;
	struct abi_stack_copy *second = (struct abi_stack_copy *)(buffer + HEADER_BYTES);
	struct abi_sample *third = (struct abi_sample *)(buffer + HEADER_BYTES + COPY_BYTES + 256);

	first->tid = 1;
	second->header.tid = 2;
	second->header.flags = ABI_SAMPLE_COPIED;
	second->stack_bytes = 256;
	third->tid = 3;
	return (struct bytes_view){ .data = buffer, .size = 2 * HEADER_BYTES + COPY_BYTES + 256 };
}

static int setup(void **state)
{
	*state = calloc(1, RECORDS_BYTES);
	assert_non_null(*state);
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static void records_follow_one_another(void **state)
{
	struct bytes_view view = fill(*state);
	const struct abi_sample *sample;

	assert_int_equal(wait_walker_next_record(&view, &sample), HEADER_BYTES);
	assert_int_equal(sample->tid, 1);
	assert_int_equal(wait_walker_next_record(&view, &sample), COPY_BYTES + 256);
	assert_int_equal(sample->tid, 2);
	assert_int_equal(((const struct abi_stack_copy *)sample)->stack_bytes, 256);
	assert_int_equal(wait_walker_next_record(&view, &sample), HEADER_BYTES);
	assert_int_equal(sample->tid, 3);
	assert_int_equal(wait_walker_next_record(&view, &sample), 0);
}

static void an_incomplete_record_waits_for_its_rest(void **state)
{
	const size_t whole = fill(*state).size;
	const struct abi_sample *sample;

	for (size_t size = 0; size < whole; size++) {
		struct bytes_view view = { .data = *state, .size = size };
		size_t taken = 0;
		int r;

		while ((r = wait_walker_next_record(&view, &sample)) > 0)
			taken += (size_t)r;
		assert_int_equal(r, 0);
		assert_int_equal(taken + view.size, size);
		assert_true(taken <= size);
	}
}

static void records_that_no_walk_writes_are_refused(void **state)
{
	struct bytes_view view = fill(*state);
	struct abi_stack_copy *copy = *state;
	const struct abi_sample *sample;

	copy->header.flags = ABI_SAMPLE_FULL;
	assert_errno(wait_walker_next_record(&view, &sample), -EBADMSG);
	copy->header.flags = ABI_SAMPLE_WITH_WAIT;
	assert_errno(wait_walker_next_record(&view, &sample), -EBADMSG);
	copy->header.flags = ABI_SAMPLE_COPIED;
	copy->stack_bytes = ABI_WALKED_STACK_BYTES + 1;
	view.size = RECORDS_BYTES;
	assert_errno(wait_walker_next_record(&view, &sample), -EBADMSG);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(records_follow_one_another),
		TEST(an_incomplete_record_waits_for_its_rest),
		TEST(records_that_no_walk_writes_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
