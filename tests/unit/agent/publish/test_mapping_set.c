/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/publish/mapping_set.h"

#include "common/frame.h"
#include "tests/support/unit.h"

#define BYTES UINT64_C(0x1000)

static struct executable file_a = { .number = 1 };
static struct executable file_b = { .number = 2 };

struct fixture {
	struct process_mappings from;
	struct mapping_set set;
};

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	assert_non_null(*state);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	free(fixture->from.items);
	mapping_set_release(&fixture->set);
	free(fixture);
	return 0;
}

static void add(struct fixture *fixture, uint64_t start, uint64_t end,
		struct executable *executable)
{
	assert_ok(vec_push(&fixture->from, (struct process_mapping){ .start = start,
								     .end = end,
								     .bias = start + 7,
								     .executable = executable,
								     .kind = FRAME_NATIVE }));
}

static const struct abi_mapping *item(const struct fixture *fixture, size_t index)
{
	assert_true(index < fixture->set.mappings.count);
	return &fixture->set.mappings.items[index];
}

static void adjacent_anonymous_mappings_are_joined(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, 1 * BYTES, 2 * BYTES, NULL);
	add(fixture, 2 * BYTES, 4 * BYTES, NULL);
	add(fixture, 5 * BYTES, 6 * BYTES, NULL);
	add(fixture, 6 * BYTES, 7 * BYTES, &file_a);
	add(fixture, 7 * BYTES, 8 * BYTES, &file_a);
	assert_int_equal(mapping_set_fill(&fixture->set, &fixture->from), 0);
	assert_int_equal(fixture->set.mappings.count, 4);
	assert_int_equal(item(fixture, 0)->start, 1 * BYTES);
	assert_int_equal(item(fixture, 0)->end, 4 * BYTES);
	assert_int_equal(item(fixture, 0)->bias, 0);
	assert_int_equal(item(fixture, 1)->start, 5 * BYTES);
	assert_int_equal(item(fixture, 2)->executable, 1);
	assert_int_equal(item(fixture, 2)->bias, 6 * BYTES + 7);
	assert_int_equal(item(fixture, 3)->start, 7 * BYTES);
}

static void chunks_and_directory_contain_all_mappings(void **state)
{
	static const size_t counts[] = { 1, 123, 124, 125, 3000, ABI_MAX_MAPPINGS };
	struct fixture *fixture = *state;

	for (size_t c = 0; c < ARRAY_SIZE(counts); c++) {
		struct abi_mapping_chunk directory, chunk;
		size_t seen = 0;

		vec_clear(&fixture->from);
		for (size_t i = 0; i < counts[c]; i++)
			add(fixture, 2 * i * BYTES, (2 * i + 1) * BYTES, i % 2 ? &file_a : &file_b);
		assert_int_equal(mapping_set_fill(&fixture->set, &fixture->from), 0);
		mapping_set_chunk(&fixture->set, 9, ABI_DIRECTORY, &directory);
		assert_int_equal(directory.set, 9);
		assert_int_equal(directory.n_mappings, mapping_set_n_chunks(&fixture->set));
		for (uint32_t i = 0; i < directory.n_mappings; i++) {
			mapping_set_chunk(&fixture->set, 9, i, &chunk);
			assert_int_equal(chunk.set, 9);
			assert_int_equal(chunk.mappings[0].start, directory.chunk_start[i]);
			for (uint32_t at = 0; at < chunk.n_mappings; at++, seen++)
				assert_int_equal(chunk.mappings[at].start,
						 fixture->from.items[seen].start);
		}
		assert_int_equal(seen, counts[c]);
	}
}

static void above_the_limit_anonymous_mappings_without_a_file_between_them_are_joined(void **state)
{
	struct fixture *fixture = *state;
	size_t i;

	for (i = 0; i < 2 * ABI_MAX_MAPPINGS; i++)
		add(fixture, 2 * i * BYTES, (2 * i + 1) * BYTES, NULL);
	add(fixture, 2 * i * BYTES, (2 * i + 1) * BYTES, &file_a);
	assert_int_equal(mapping_set_fill(&fixture->set, &fixture->from), 1);
	assert_int_equal(fixture->set.mappings.count, 2);
	assert_int_equal(item(fixture, 0)->end, (2 * i - 1) * BYTES);
	assert_int_equal(item(fixture, 1)->executable, 1);
}

static void mappings_beyond_the_limit_become_one_range_that_the_agent_looks_up(void **state)
{
	const size_t n = ABI_MAX_MAPPINGS + 100;
	struct fixture *fixture = *state;

	for (size_t i = 0; i < n; i++)
		add(fixture, 2 * i * BYTES, (2 * i + 1) * BYTES, &file_a);
	assert_int_equal(mapping_set_fill(&fixture->set, &fixture->from), 1);
	assert_int_equal(fixture->set.mappings.count, ABI_MAX_MAPPINGS);
	assert_int_equal(item(fixture, ABI_MAX_MAPPINGS - 2)->executable, 1);
	assert_int_equal(item(fixture, ABI_MAX_MAPPINGS - 1)->executable, 0);
	assert_int_equal(item(fixture, ABI_MAX_MAPPINGS - 1)->start,
			 2 * (ABI_MAX_MAPPINGS - 1) * BYTES);
	assert_int_equal(item(fixture, ABI_MAX_MAPPINGS - 1)->end, (2 * n - 1) * BYTES);
}

#define with_fixture(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(adjacent_anonymous_mappings_are_joined),
		with_fixture(chunks_and_directory_contain_all_mappings),
		with_fixture(
			above_the_limit_anonymous_mappings_without_a_file_between_them_are_joined),
		with_fixture(mappings_beyond_the_limit_become_one_range_that_the_agent_looks_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
