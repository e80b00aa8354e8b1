/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include "symbolizer/store/segment_db/batch_block.h"

#define HOUR_OF_TEST UINT64_C(490000)
#define BEGIN_MS     (HOUR_OF_TEST * BATCH_HOUR_MS)

enum { N_NAMES = 60 };

static void add_batch(struct batch_block *block, const struct batch_times *times)
{
	struct batch_times added = *times;

	added.index = block->times.count;
	assert_ok(vec_push(&block->times, added));
}

static void add_value(struct batch_block *block, uint32_t batch, uint32_t name, uint64_t value)
{
	assert_ok(vec_push(&block->values, ((struct batch_value){ batch, name, value })));
}

/* Encodes and decodes all batches of a sorted block as one range. */
static struct batch_block copy_of(const struct batch_block *block, bool compress)
{
	scoped(bytes_release) struct bytes times = BYTES_INIT(64 * MIB);
	scoped(bytes_release) struct bytes counters = BYTES_INIT(64 * MIB);
	const struct batch_range range = batch_block_range(block, 0);
	const struct batch_head head = { .hour = batch_hour(block->times.items[0].closed_ms),
					 .count = block->times.count };
	struct batch_block copy = {};

	assert_int_equal(range.end, block->times.count);
	assert_ok(batch_times_encode(block, range, compress, &times));
	assert_ok(batch_counters_encode(block, range, compress, &counters));
	assert_ok(batch_times_decode(bytes_view_of(&times), &head, &copy.times));
	assert_ok(batch_counters_decode(bytes_view_of(&counters), head.count, 0, &copy.values));
	return copy;
}

static uint64_t value_of(const struct batch_block *block, size_t batch, uint32_t name)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < block->values.count; i++)
		if (block->values.items[i].batch == block->times.items[batch].index &&
		    block->values.items[i].name == name)
			sum += block->values.items[i].value;
	return sum;
}

static void batches_and_values_are_encoded_in_order_of_closing(void **state)
{
	static const struct batch_times batches[] = {
		{ 7, BEGIN_MS + 20000, BEGIN_MS + 25000, 300, 0 },
		{ UINT64_MAX, BEGIN_MS + 5, BEGIN_MS + 3600000, INT64_MIN, 0 },
		{ 6, BEGIN_MS - 7 * 24 * 3600000, BEGIN_MS + 1, INT64_MAX, 0 },
		{ 0, BEGIN_MS + 25000, BEGIN_MS + 25000, -1, 0 },
	};
	static const size_t order[] = { 2, 3, 0, 1 };

	(void)state;
	for (int compress = 0; compress < 2; compress++) {
		scoped(batch_block_release) struct batch_block block = {};
		scoped(batch_block_release) struct batch_block copy = {};

		for (size_t i = 0; i < ARRAY_SIZE(batches); i++)
			add_batch(&block, &batches[i]);
		add_value(&block, 0, 5, 50);
		add_value(&block, 3, COUNTER_NAMES_MAX - 1, UINT64_MAX);
		add_value(&block, 1, 5, 1);
		add_value(&block, 1, 5, 10); /* one name twice */
		add_value(&block, 2, COUNTER_LEFT_OUT, 3);
		batch_block_sort(&block);
		copy = copy_of(&block, compress);
		for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
			const struct batch_times *times = &copy.times.items[i];

			assert_true(times->sequence == batches[order[i]].sequence);
			assert_true(times->opened_ms == batches[order[i]].opened_ms);
			assert_true(times->closed_ms == batches[order[i]].closed_ms);
			assert_true(times->delay_ms == batches[order[i]].delay_ms);
		}
		assert_int_equal(copy.values.count, 4);
		assert_int_equal(value_of(&copy, 2, 5), 50);
		assert_int_equal(value_of(&copy, 3, 5), 11);
		assert_int_equal(value_of(&copy, 0, COUNTER_LEFT_OUT), 3);
		assert_true(value_of(&copy, 1, COUNTER_NAMES_MAX - 1) == UINT64_MAX);
	}
}

static void a_range_ends_with_its_hour_or_when_it_is_full(void **state)
{
	scoped(batch_block_release) struct batch_block block = {};
	struct batch_range range;

	(void)state;
	for (uint64_t i = 0; i < BATCH_BLOCK_MAX + 10; i++)
		add_batch(&block, &(struct batch_times){ .closed_ms = BEGIN_MS + 1 + i / 4 });
	/* The end of an hour belongs to it. */
	add_batch(&block, &(struct batch_times){ .closed_ms = BEGIN_MS + BATCH_HOUR_MS });
	add_batch(&block, &(struct batch_times){ .closed_ms = BEGIN_MS + BATCH_HOUR_MS + 1 });
	range = batch_block_range(&block, 0);
	assert_int_equal(range.end, BATCH_BLOCK_MAX);
	range = batch_block_range(&block, range.end);
	assert_int_equal(range.end, BATCH_BLOCK_MAX + 11);
	range = batch_block_range(&block, range.end);
	assert_int_equal(range.end, BATCH_BLOCK_MAX + 12);
}

static void a_part_of_a_block_has_its_own_values_only(void **state)
{
	scoped(bytes_release) struct bytes counters = BYTES_INIT(MIB);
	scoped(batch_block_release) struct batch_block block = {};
	struct batch_values values = {};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		add_batch(&block, &(struct batch_times){ .closed_ms = BEGIN_MS + 4 - i });
		add_value(&block, i, i + 1, 100 + i);
	}
	batch_block_sort(&block);
	assert_ok(batch_counters_encode(&block, (struct batch_range){ 1, 3 }, false, &counters));
	assert_ok(batch_counters_decode(bytes_view_of(&counters), 2, 10, &values));
	assert_int_equal(values.count, 2);
	assert_int_equal(values.items[0].name, 2);
	assert_int_equal(values.items[0].batch, 11);
	assert_int_equal(values.items[0].value, 101);
	assert_int_equal(values.items[1].name, 3);
	assert_int_equal(values.items[1].batch, 10);
	vec_release(&values);
}

/* A batch each 5 s for an hour, with N_NAMES counters. */
static void make_hour(struct batch_block *block)
{
	uint64_t random = 1;

	for (uint32_t i = 0; i < 720; i++) {
		const struct batch_times times = { .sequence = 1000 + i,
						   .opened_ms = BEGIN_MS + 5000 * i,
						   .closed_ms = BEGIN_MS + 5000 * (i + 1),
						   .delay_ms = 20 + i % 7 };

		add_batch(block, &times);
		for (uint32_t name = 1; name <= N_NAMES; name++) {
			random = random * UINT64_C(6364136223846793005) + 1;
			add_value(block, i, name, (random >> 40) % (UINT64_C(1) << name % 20));
		}
	}
	batch_block_sort(block);
}

static void damaged_blobs_are_refused_or_decoded_without_harm(void **state)
{
	scoped(batch_block_release) struct batch_block block = {};
	const struct batch_head head = { .hour = HOUR_OF_TEST, .count = 720 };
	uint64_t random = 7;

	(void)state;
	make_hour(&block);
	for (int compress = 0; compress < 2; compress++) {
		struct bytes blobs[2] = { BYTES_INIT(MIB), BYTES_INIT(MIB) };
		const struct batch_range range = batch_block_range(&block, 0);

		assert_ok(batch_times_encode(&block, range, compress, &blobs[0]));
		assert_ok(batch_counters_encode(&block, range, compress, &blobs[1]));
		for (int i = 0; i < 500; i++) {
			scoped(batch_block_release) struct batch_block copy = {};
			struct bytes *blob = &blobs[i % 2];
			size_t at;
			uint8_t before;

			random = random * UINT64_C(6364136223846793005) + 1;
			at = (size_t)(random >> 33) % blob->size;
			before = blob->data[at];
			blob->data[at] ^= (uint8_t)(1 + random % 255);
			(void)batch_times_decode(bytes_view_of(&blobs[0]), &head, &copy.times);
			(void)batch_counters_decode(bytes_view_of(&blobs[1]), head.count, 0,
						    &copy.values);
			(void)batch_times_decode(
				(struct bytes_view){ .data = blobs[0].data,
						     .size = at % (blobs[0].size + 1) },
				&head, &copy.times);
			blob->data[at] = before;
		}
		bytes_release(&blobs[0]);
		bytes_release(&blobs[1]);
	}
	assert_errno(batch_times_decode((struct bytes_view){}, &head, &block.times), -EBADMSG);
	assert_errno(batch_counters_decode((struct bytes_view){}, 1, 0, &block.values), -EBADMSG);
}

static void a_blob_of_another_count_or_hour_is_refused(void **state)
{
	scoped(bytes_release) struct bytes times = BYTES_INIT(MIB);
	scoped(batch_block_release) struct batch_block block = {};
	static const struct batch_head heads[] = { { HOUR_OF_TEST, 719 },
						   { HOUR_OF_TEST, 721 },
						   { HOUR_OF_TEST, 0 },
						   { HOUR_OF_TEST, BATCH_BLOCK_MAX + 1 } };

	(void)state;
	make_hour(&block);
	assert_ok(batch_times_encode(&block, batch_block_range(&block, 0), true, &times));
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++)
		assert_errno(batch_times_decode(bytes_view_of(&times), &heads[i], &block.times),
			     -EBADMSG);
	assert_int_equal(block.times.count, 720);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batches_and_values_are_encoded_in_order_of_closing),
		cmocka_unit_test(a_range_ends_with_its_hour_or_when_it_is_full),
		cmocka_unit_test(a_part_of_a_block_has_its_own_values_only),
		cmocka_unit_test(damaged_blobs_are_refused_or_decoded_without_harm),
		cmocka_unit_test(a_blob_of_another_count_or_hour_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
