/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/store/segment/segment_fixture.h"

static const uint64_t hour[2] = { 17000000000, 17000360000 };

static void a_decoded_segment_equals_the_encoded_one(void **state)
{
	static const size_t counts[] = { 0, 1, 2, 100, 5000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		scoped(arena_freep) struct arena *arena = new_arena();
		struct segment segment, decoded;
		struct model model = {};
		uint64_t random = i;

		model_add_random(&model, &random, counts[i], hour);
		segment = segment_of(&model, arena);
		decoded = reread(&segment, arena);
		assert_segments_equal(&segment, &decoded);
		assert_has_rows(&decoded, &model);
		vec_release(&model);
	}
}

static void extreme_values_are_kept(void **state)
{
	static const uint64_t extremes[] = {
		0, 1, UINT64_MAX, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX - 1, 255, 256
	};
	scoped(segment_builder_freep) struct segment_builder *builder = NULL;
	scoped(arena_freep) struct arena *arena = new_arena();
	struct segment segment, decoded;

	(void)state;
	assert_ok(segment_builder_new(&builder));
	builder_add_head(builder, "web", EVENT_VALUE_TIME);
	for (size_t i = 0; i < ARRAY_SIZE(extremes); i++) {
		assert_ok(segment_builder_add(builder, SEGMENT_FRAME,
					      (uint64_t[]){ extremes[i], 0, ~extremes[i] }, NULL));
		assert_ok(segment_builder_add(builder, SEGMENT_ROW,
					      (uint64_t[]){ 0, extremes[i], 0, extremes[i] },
					      NULL));
	}
	assert_ok(segment_builder_finish(builder, arena, &segment));
	decoded = reread(&segment, arena);
	assert_segments_equal(&segment, &decoded);
}

static void tables_that_are_not_wanted_are_not_decoded(void **state)
{
	scoped(segment_codec_release) struct segment_codec codec = {};
	scoped(bytes_release) struct bytes bytes = BYTES_INIT(MIB);
	scoped(arena_freep) struct arena *arena = new_arena();
	struct segment segment, decoded;
	struct model model = {};
	uint64_t random = 5;

	(void)state;
	model_add_random(&model, &random, 500, hour);
	segment = segment_of(&model, arena);
	assert_ok(segment_encode(&segment, &codec, &bytes));
	assert_ok(segment_decode(bytes_view_of(&bytes), SEGMENT_SET(SEGMENT_ROW), &codec, arena,
				 &decoded));
	assert_null(decoded.column[NODE_FRAME]);
	assert_null(decoded.texts);
	assert_int_equal(decoded.count[SEGMENT_NODE], segment.count[SEGMENT_NODE]);
	assert_memory_equal(decoded.column[ROW_STACK], segment.column[ROW_STACK],
			    500 * sizeof(uint64_t));
	vec_release(&model);
}

static void every_changed_or_missing_byte_is_detected(void **state)
{
	scoped(segment_codec_release) struct segment_codec codec = {};
	scoped(bytes_release) struct bytes bytes = BYTES_INIT(MIB);
	scoped(arena_freep) struct arena *arena = new_arena();
	struct segment segment, decoded;
	struct model model = {};
	uint64_t random = 6;

	(void)state;
	model_add_random(&model, &random, 50, hour);
	segment = segment_of(&model, arena);
	assert_ok(segment_encode(&segment, &codec, &bytes));
	for (size_t i = 0; i < bytes.size; i++) {
		int r;

		bytes.data[i] ^= 0x40;
		r = segment_decode(bytes_view_of(&bytes), SEGMENT_ALL, &codec, arena, &decoded);
		assert_int_equal(r, i == 4 ? -EPROTONOSUPPORT : -EBADMSG);
		bytes.data[i] ^= 0x40;
		assert_errno(segment_decode((struct bytes_view){ bytes.data, i }, SEGMENT_ALL,
					    &codec, arena, &decoded),
			     -EBADMSG);
	}
	vec_release(&model);
}

static void decoding_allocates_in_the_arena_only(void **state)
{
	scoped(segment_codec_release) struct segment_codec codec = {};
	scoped(bytes_release) struct bytes bytes = BYTES_INIT(MIB);
	scoped(arena_freep) struct arena *arena = new_arena(), *small = NULL;
	struct segment segment, decoded;
	struct model model = {};
	uint64_t random = 7;

	(void)state;
	model_add_random(&model, &random, 5000, hour);
	segment = segment_of(&model, arena);
	assert_ok(segment_encode(&segment, &codec, &bytes));
	assert_ok(arena_new(64 * KIB, &small));
	assert_errno(segment_decode(bytes_view_of(&bytes), SEGMENT_ALL, &codec, small, &decoded),
		     -ENOMEM);
	vec_release(&model);
}

static void the_sizes_of_the_columns_add_up(void **state)
{
	scoped(segment_codec_release) struct segment_codec codec = {};
	scoped(bytes_release) struct bytes bytes = BYTES_INIT(MIB);
	scoped(arena_freep) struct arena *arena = new_arena();
	size_t columns[SEGMENT_COLUMN_COUNT], total;
	struct segment segment;
	struct model model = {};
	uint64_t random = 8;

	(void)state;
	model_add_random(&model, &random, 5000, hour);
	segment = segment_of(&model, arena);
	assert_ok(segment_encode(&segment, &codec, &bytes));
	assert_ok(segment_measure(bytes_view_of(&bytes), columns, &total));
	for (unsigned int i = 0; i < SEGMENT_COLUMN_COUNT; i++)
		total += columns[i];
	/* The rest is the header: a few bytes per column. */
	assert_in_range(bytes.size - total, SEGMENT_COLUMN_COUNT, SEGMENT_COLUMN_COUNT * 24);
	vec_release(&model);
}

static void a_sample_of_a_steady_service_takes_few_bytes(void **state)
{
	enum { N_ROWS = 200000, N_STACKS = 300 };
	scoped(segment_builder_freep) struct segment_builder *builder = NULL;
	scoped(segment_codec_release) struct segment_codec codec = {};
	scoped(bytes_release) struct bytes bytes = BYTES_INIT(MIB);
	scoped(arena_freep) struct arena *arena = new_arena();
	struct segment segment;
	uint64_t random = 9;

	(void)state;
	assert_ok(segment_builder_new(&builder));
	builder_add_head(builder, "web", EVENT_VALUE_TIME);
	for (uint64_t i = 0; i < N_STACKS; i++) {
		assert_ok(segment_builder_add(builder, SEGMENT_FRAME, (uint64_t[]){ 1, 0, i * 37 },
					      NULL));
		assert_ok(segment_builder_add(builder, SEGMENT_NODE, (uint64_t[]){ i, i }, NULL));
		assert_ok(segment_builder_add(builder, SEGMENT_STACK, (uint64_t[]){ i + 1, 0 },
					      NULL));
	}
	for (uint64_t i = 0; i < N_ROWS; i++)
		assert_ok(segment_builder_add(
			builder, SEGMENT_ROW,
			(uint64_t[]){ 0, hour[0] + i, 1 + model_random(&random) % N_STACKS, 1 },
			NULL));
	assert_ok(segment_builder_finish(builder, arena, &segment));
	assert_ok(segment_encode(&segment, &codec, &bytes));
	/* A random stack of 300 has 8.2 bits, so the minimum is 1.03 bytes. */
	assert_true(bytes.size < N_ROWS * 5 / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_decoded_segment_equals_the_encoded_one),
		cmocka_unit_test(extreme_values_are_kept),
		cmocka_unit_test(tables_that_are_not_wanted_are_not_decoded),
		cmocka_unit_test(every_changed_or_missing_byte_is_detected),
		cmocka_unit_test(decoding_allocates_in_the_arena_only),
		cmocka_unit_test(the_sizes_of_the_columns_add_up),
		cmocka_unit_test(a_sample_of_a_steady_service_takes_few_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
