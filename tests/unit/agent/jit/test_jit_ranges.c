/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/jit/jit_ranges.h"

#include "tests/support/test_seed.h"
#include "tests/support/unit.h"

static struct jit_codes codes;

/* xorshift64 */
static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void add_flagged(struct jit_ranges *ranges, struct jit_code code)
{
	codes.count = 1;
	codes.items[0] = code;
	assert_ok(jit_ranges_add(ranges, &codes));
}

static void add(struct jit_ranges *ranges, uint64_t start, uint32_t size, uint32_t offset)
{
	add_flagged(ranges, (struct jit_code){ .start = start, .size = size, .offset = offset });
}

/* The offset of the entry at @pc; UINT32_MAX: none. */
static uint32_t at_time(const struct jit_ranges *ranges, uint64_t pc, uint64_t time_ns)
{
	uint32_t code_offset;
	const struct jit_range *range = jit_ranges_find(ranges, pc, time_ns, &code_offset);

	return range ? range->offset : UINT32_MAX;
}

static uint32_t at(const struct jit_ranges *ranges, uint64_t pc)
{
	return at_time(ranges, pc, 0);
}

static void the_latest_entry_holds_where_entries_overlap(void **state)
{
	struct jit_ranges ranges = {};
	uint32_t code_offset;

	(void)state;
	add(&ranges, 0x1000, 0x100, 1);
	add(&ranges, 0x1040, 0x20, 2);
	assert_ok(jit_ranges_commit(&ranges));
	add(&ranges, 0x10f0, 0x20, 3);
	assert_ok(jit_ranges_commit(&ranges));
	assert_int_equal(at(&ranges, 0xfff), UINT32_MAX);
	assert_int_equal(at(&ranges, 0x1000), 1);
	assert_int_equal(at(&ranges, 0x103f), 1);
	assert_int_equal(at(&ranges, 0x1040), 2);
	assert_int_equal(at(&ranges, 0x105f), 2);
	assert_int_equal(at(&ranges, 0x1060), 1);
	assert_int_equal(at(&ranges, 0x10ef), 1);
	assert_int_equal(at(&ranges, 0x10f0), 3);
	assert_int_equal(at(&ranges, 0x110f), 3);
	assert_int_equal(at(&ranges, 0x1110), UINT32_MAX);
	assert_non_null(jit_ranges_find(&ranges, 0x1065, 0, &code_offset));
	assert_int_equal(code_offset, 0x65);

	add(&ranges, 0x1000, 0x1000, 4);
	assert_ok(jit_ranges_commit(&ranges));
	assert_int_equal(jit_ranges_count(&ranges), 1);
	assert_int_equal(at(&ranges, 0x1050), 4);
	jit_ranges_release(&ranges);
}

static void moved_code_keeps_its_entry(void **state)
{
	struct jit_ranges ranges = {};
	uint32_t code_offset;

	(void)state;
	add_flagged(&ranges,
		    (struct jit_code){
			    .start = 0x1000, .size = 0x40, .offset = 1, .flags = JIT_CODE_LINES });
	add_flagged(&ranges, (struct jit_code){ .start = 0x5000,
						.size = 0x40,
						.moved_from = 0x1000,
						.flags = JIT_CODE_MOVED });
	add_flagged(&ranges, (struct jit_code){ .start = 0x6000,
						.size = 0x40,
						.moved_from = 0x5000,
						.flags = JIT_CODE_MOVED });
	/* Nothing was there. */
	add_flagged(&ranges, (struct jit_code){ .start = 0x7000,
						.size = 0x40,
						.moved_from = 0x9000,
						.flags = JIT_CODE_MOVED });
	assert_ok(jit_ranges_commit(&ranges));
	assert_int_equal(at(&ranges, 0x6000), 1);
	assert_true(jit_ranges_find(&ranges, 0x6010, 0, &code_offset)->size & JIT_RANGE_LINES);
	assert_int_equal(code_offset, 0x10);
	assert_int_equal(at(&ranges, 0x7000), UINT32_MAX);
	jit_ranges_release(&ranges);
}

static void code_with_times_is_found_as_of_the_sample(void **state)
{
	struct jit_ranges ranges = {};

	(void)state;
	jit_ranges_forget_replaced(&ranges, 10);
	add_flagged(&ranges, (struct jit_code){
				     .start = 0x1000, .size = 0x40, .offset = 1, .time_ns = 100 });
	assert_ok(jit_ranges_commit(&ranges));
	add_flagged(&ranges, (struct jit_code){
				     .start = 0x1000, .size = 0x20, .offset = 2, .time_ns = 200 });
	assert_ok(jit_ranges_commit(&ranges));
	add_flagged(&ranges, (struct jit_code){
				     .start = 0x1000, .size = 0x20, .offset = 3, .time_ns = 300 });
	assert_ok(jit_ranges_commit(&ranges));
	assert_int_equal(at_time(&ranges, 0x1000, 150), 1);
	assert_int_equal(at_time(&ranges, 0x1000, 250), 2);
	assert_int_equal(at_time(&ranges, 0x1000, 350), 3);
	assert_int_equal(at_time(&ranges, 0x1030, 350), 1);
	/* Its writer was late. */
	assert_int_equal(at_time(&ranges, 0x1000, 50), 1);

	jit_ranges_forget_replaced(&ranges, 250);
	assert_int_equal(at_time(&ranges, 0x1000, 150), 2);
	assert_int_equal(at_time(&ranges, 0x1000, 350), 3);
	jit_ranges_release(&ranges);
}

/* Compares random entries with an array of the latest entry of each address. */
static void ranges_are_those_of_a_simple_model(void **state)
{
	uint64_t random = test_seed();
	uint32_t model[512];

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct jit_ranges ranges = {};

		memset(model, 0xff, sizeof(model));
		for (uint32_t entry = 0; entry < 60; entry++) {
			uint32_t start = (uint32_t)(draw(&random) % 500);
			uint32_t size = 1 + (uint32_t)(draw(&random) % (512 - start));

			if (draw(&random) % 4)
				size = 1 + size % 12;
			add(&ranges, 0x1000 + start, size, entry);
			for (uint32_t i = start; i < start + size; i++)
				model[i] = entry;
			if (draw(&random) % 8 == 0)
				assert_ok(jit_ranges_commit(&ranges));
		}
		assert_ok(jit_ranges_commit(&ranges));
		for (uint32_t i = 0; i < ARRAY_SIZE(model); i++)
			assert_int_equal(at(&ranges, 0x1000 + i), model[i]);
		jit_ranges_release(&ranges);
	}
}

static void ranges_are_bounded(void **state)
{
	struct jit_ranges ranges = {};

	(void)state;
	for (uint64_t i = 0; i < JIT_MAX_RANGES + 100; i++)
		add(&ranges, 0x100000 + i * 32, 16, (uint32_t)i);
	assert_ok(jit_ranges_commit(&ranges));
	assert_int_equal(jit_ranges_count(&ranges), JIT_MAX_RANGES);
	assert_int_equal(ranges.n_dropped, 100);
	assert_int_equal(at(&ranges, 0x100000 + 77 * 32), 77);
	jit_ranges_release(&ranges);
}

static void entries_that_no_memory_can_have_are_ignored(void **state)
{
	struct jit_ranges ranges = {};

	(void)state;
	add(&ranges, 0x1000, 0, 1);
	add(&ranges, UINT64_MAX - 0x10, 0x40, 2);
	add(&ranges, 0x1000, (uint32_t)JIT_CODE_MAX_BYTES + 1, 3);
	assert_ok(jit_ranges_commit(&ranges));
	assert_int_equal(jit_ranges_count(&ranges), 0);
	jit_ranges_release(&ranges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_latest_entry_holds_where_entries_overlap),
		cmocka_unit_test(moved_code_keeps_its_entry),
		cmocka_unit_test(code_with_times_is_found_as_of_the_sample),
		cmocka_unit_test(ranges_are_those_of_a_simple_model),
		cmocka_unit_test(ranges_are_bounded),
		cmocka_unit_test(entries_that_no_memory_can_have_are_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
