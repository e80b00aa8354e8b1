/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/batch_builder.h"
#include "tests/support/unit.h"

#include "symbolizer/ingest/batch_payload.h"

#define NOON (UINT64_C(1767268800) * NSEC_PER_SEC) /* 2026-01-01 12:00 UTC */

struct fixture {
	struct arena *arena;
	struct bytes body;
};

static int setup(void **state)
{
	static const struct batch_frame frame = { FRAME_NATIVE, 1, 0x1000 };
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct batch_builder *builder = batch_builder_new(1, 7, 3, NOON - 5 * NSEC_PER_SEC, NOON);
	struct executable_id id = test_build_id(1);

	assert_non_null(fixture);
	assert_ok(arena_new(64 * MIB, &fixture->arena));
	fixture->body = BYTES_INIT(MIB);
	batch_builder_use_format_2(builder);
	batch_builder_executable(builder, 1, &id, "server", ROLE_USER);
	batch_builder_process(builder, 1, 4711, 99, "web", 1);
	batch_builder_series(builder, 1, 1, 4711, "main", EVENT_ON_CPU, 10 * NSEC_PER_MSEC);
	batch_builder_stack(builder, 5, STACK_CUT_NONE, &frame, 1);
	batch_builder_row(builder, 1, 5, NOON - NSEC_PER_SEC, 2);
	batch_builder_counter(builder, "lost", 3);
	batch_builder_finish(builder, &fixture->body);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	bytes_release(&fixture->body);
	(void)arena_free(fixture->arena);
	free(fixture);
	return 0;
}

static void a_payload_is_decoded_with_its_times_corrected(void **state)
{
	struct fixture *fixture = *state;
	struct batch batch;

	assert_ok(batch_payload_decode(NULL, bytes_view_of(&fixture->body),
				       -(int64_t)(60 * NSEC_PER_SEC), fixture->arena, &batch));
	assert_int_equal(batch.n_rows, 1);
	assert_int_equal(batch.rows[0].slot, (NOON - 61 * NSEC_PER_SEC) / SLOT_NS);
	assert_int_equal(batch.closed_wall_ns, NOON - 60 * NSEC_PER_SEC);
}

static void definitions_are_those_of_the_payload_without_its_rows(void **state)
{
	scoped(bytes_release) struct bytes definitions = BYTES_INIT(MIB);
	struct fixture *fixture = *state;
	struct batch batch;

	assert_ok(batch_payload_definitions(NULL, bytes_view_of(&fixture->body), &definitions));
	assert_ok(batch_payload_decode_definitions(NULL, bytes_view_of(&definitions),
						   fixture->arena, &batch));
	assert_int_equal(batch.n_rows, 0);
	assert_int_equal(batch.n_counters, 0);
	assert_int_equal(batch.epoch, 7);
	assert_string_equal(batch.host.name, "host-1");
	assert_int_equal(batch.n_executables, 1);
	assert_string_equal(batch.processes[0].name, "web");
	assert_int_equal(batch.series[0].type, EVENT_ON_CPU);
	assert_int_equal(batch.stacks[0].number, 5);
	assert_int_equal(batch.stacks[0].frames[0].address, 0x1000);
}

static void damaged_payloads_are_refused(void **state)
{
	scoped(bytes_release) struct bytes definitions = BYTES_INIT(MIB);
	struct fixture *fixture = *state;
	struct batch batch;

	for (size_t i = 0; i < fixture->body.size; i++) {
		fixture->body.data[i] ^= 0x55;
		assert_true(batch_payload_decode(NULL, bytes_view_of(&fixture->body), 0,
						 fixture->arena, &batch) < 0);
		assert_true(batch_payload_definitions(NULL, bytes_view_of(&fixture->body),
						      &definitions) < 0);
		fixture->body.data[i] ^= 0x55;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_payload_is_decoded_with_its_times_corrected,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			definitions_are_those_of_the_payload_without_its_rows, setup, teardown),
		cmocka_unit_test_setup_teardown(damaged_payloads_are_refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
