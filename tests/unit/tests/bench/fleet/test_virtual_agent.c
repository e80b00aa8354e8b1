/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test acts as the server: it decodes the requests of the agent, and answers them.
 */
#include "tests/support/unit.h"

#include "symbolizer/ingest/batch_decoder.h"
#include "tests/bench/fleet/virtual_agent.h"
#include "tests/unit/tests/bench/fleet/small_capture.h"

#define DUE_NS (UINT64_C(1767225600) * NSEC_PER_SEC)

struct conversation {
	struct capture *capture;
	struct virtual_agent agent;
	struct virtual_agent_start start;
	struct arena *arena, *scratch;
	struct batch batch; /* the last batch that the agent sent */
};

static void begin(struct conversation *talk, size_t position, unsigned int retry_pct)
{
	assert_ok(arena_new(BATCH_MAX_DECODED_BYTES, &talk->arena));
	assert_ok(arena_new(BATCH_MAX_DECODED_BYTES, &talk->scratch));
	talk->capture = small_capture();
	talk->start.position = position;
	assert_ok(replay_definitions(talk->capture, position, NULL, &talk->start.builder,
				     &talk->start.message));
	virtual_agent_init(&talk->agent, &(struct virtual_agent_options){
						 .index = 5,
						 .capture = talk->capture,
						 .position = position,
						 .due_ns = DUE_NS,
						 .retry_pct = retry_pct,
					 });
}

static void end(struct conversation *talk)
{
	virtual_agent_release(&talk->agent);
	(void)batch_builder_free(talk->start.builder);
	(void)capture_free(talk->capture);
	(void)arena_free(talk->arena);
	(void)arena_free(talk->scratch);
}

static void receive(struct conversation *talk)
{
	char reason[DECODE_MESSAGE_SIZE];

	assert_ok(virtual_agent_encode(&talk->agent, &talk->start, talk->scratch));
	if (batch_decode(bytes_view_of(&talk->agent.body), talk->arena, &talk->batch, reason) < 0)
		fail_msg("%s", reason);
}

static int answer(struct conversation *talk, const Hearth__V1__BatchAnswer *answer)
{
	uint8_t packed[256];
	size_t size = hearth__v1__batch_answer__get_packed_size(answer);

	assert_true(size <= sizeof(packed));
	(void)hearth__v1__batch_answer__pack(answer, packed);
	return virtual_agent_answered(&talk->agent, DUE_NS, 200,
				      (struct bytes_view){ .data = packed, .size = size },
				      talk->scratch);
}

static int acknowledge(struct conversation *talk)
{
	Hearth__V1__BatchAnswer message = HEARTH__V1__BATCH_ANSWER__INIT;

	message.epoch = talk->batch.epoch;
	message.acknowledged_sequence = talk->batch.sequence;
	return answer(talk, &message);
}

static void an_agent_that_starts_late_first_sends_the_definitions_before(void **state)
{
	struct conversation talk = {};

	(void)state;
	begin(&talk, 1, 0);
	assert_int_equal(virtual_agent_due_ns(&talk.agent), 0);
	receive(&talk);
	assert_int_equal(talk.batch.sequence, 1);
	assert_int_equal(talk.batch.n_rows, 0);
	assert_int_equal(talk.batch.n_stacks, 2);
	assert_int_equal(acknowledge(&talk), AGENT_CONTINUES);
	assert_int_equal(virtual_agent_due_ns(&talk.agent), DUE_NS);
	receive(&talk);
	assert_int_equal(talk.batch.sequence, 2);
	assert_int_equal(talk.batch.n_rows, 2);
	end(&talk);
}

static void an_agent_that_the_server_forgot_sends_its_batch_at_once(void **state)
{
	struct conversation talk = {};

	(void)state;
	begin(&talk, 1, 0);
	virtual_agent_release(&talk.agent);
	virtual_agent_init(&talk.agent, &(struct virtual_agent_options){
						.index = 5,
						.capture = talk.capture,
						.position = 1,
						.due_ns = DUE_NS,
						.server_forgot = true,
					});
	assert_int_equal(virtual_agent_due_ns(&talk.agent), DUE_NS);
	receive(&talk);
	assert_int_equal(talk.batch.sequence, 1);
	assert_int_equal(talk.batch.n_rows, 2);
	end(&talk);
}

static void batches_follow_in_order_also_in_the_next_lap(void **state)
{
	struct conversation talk = {};
	uint64_t epoch, due_ns = DUE_NS;

	(void)state;
	begin(&talk, 0, 0);
	receive(&talk);
	epoch = talk.batch.epoch;
	assert_int_equal(talk.batch.sequence, 1);
	assert_int_equal(acknowledge(&talk), AGENT_ACKNOWLEDGED);
	assert_int_equal(virtual_agent_due_ns(&talk.agent), due_ns + 5 * NSEC_PER_SEC + 1);
	receive(&talk);
	assert_int_equal(talk.batch.sequence, 2);
	assert_int_equal(talk.batch.epoch, epoch);
	assert_int_equal(acknowledge(&talk), AGENT_ACKNOWLEDGED);
	receive(&talk);
	assert_int_equal(talk.batch.sequence, 3);
	assert_int_equal(talk.batch.epoch, epoch);
	assert_int_equal(talk.batch.n_rows, 3);
	assert_int_equal(talk.batch.n_stacks, 0);
	assert_int_equal(talk.agent.sums[EVENT_ON_CPU], 9 * SMALL_PERIOD_NS);
	assert_int_equal(talk.agent.sums[EVENT_OFF_CPU], 7500);
	assert_int_equal(talk.agent.n_acknowledged, 2);
	end(&talk);
}

static void unknown_numbers_are_defined_before_the_same_batch_is_sent_again(void **state)
{
	Hearth__V1__BatchAnswer message = HEARTH__V1__BATCH_ANSWER__INIT;
	struct conversation talk = {};

	(void)state;
	begin(&talk, 1, 0);
	receive(&talk);
	assert_int_equal(acknowledge(&talk), AGENT_CONTINUES);
	receive(&talk);
	message.epoch = talk.batch.epoch;
	message.unknown_stacks = (uint32_t[]){ 1 };
	message.n_unknown_stacks = 1;
	assert_int_equal(answer(&talk, &message), AGENT_UNKNOWN);
	receive(&talk);
	assert_int_equal(talk.batch.sequence, 3);
	assert_int_equal(talk.batch.n_stacks, 1);
	assert_int_equal(talk.batch.stacks[0].number, 1);
	assert_int_equal(acknowledge(&talk), AGENT_CONTINUES);
	receive(&talk);
	assert_int_equal(talk.batch.sequence, 2);
	assert_int_equal(talk.agent.n_acknowledged, 0);
	assert_int_equal(acknowledge(&talk), AGENT_ACKNOWLEDGED);
	end(&talk);
}

static void a_server_that_lost_an_epoch_gets_its_definitions_in_a_later_lap_too(void **state)
{
	Hearth__V1__BatchAnswer message = HEARTH__V1__BATCH_ANSWER__INIT;
	struct conversation talk = {};

	(void)state;
	begin(&talk, 0, 0);
	for (int i = 0; i < 2; i++) {
		receive(&talk);
		assert_int_equal(acknowledge(&talk), AGENT_ACKNOWLEDGED);
	}
	receive(&talk);
	message.epoch = talk.batch.epoch;
	/* The capture defines stack 3 and series 2 in its second batch. */
	message.unknown_stacks = (uint32_t[]){ 1, 3 };
	message.n_unknown_stacks = 2;
	message.unknown_series = (uint32_t[]){ 2 };
	message.n_unknown_series = 1;
	assert_int_equal(answer(&talk, &message), AGENT_UNKNOWN);
	receive(&talk);
	assert_int_equal(talk.batch.n_stacks, 2);
	assert_int_equal(talk.batch.n_series, 1);
	assert_string_equal(talk.batch.series[0].thread_name, "worker");
	end(&talk);
}

static void a_refused_or_unanswered_batch_is_repeated_after_a_growing_pause(void **state)
{
	struct conversation talk = {};
	uint64_t first_ns, second_ns;

	(void)state;
	begin(&talk, 0, 0);
	receive(&talk);
	assert_int_equal(virtual_agent_answered(&talk.agent, DUE_NS, 503, (struct bytes_view){},
						talk.scratch),
			 AGENT_TRIES_AGAIN);
	first_ns = virtual_agent_due_ns(&talk.agent) - DUE_NS;
	assert_in_range(first_ns, 3 * NSEC_PER_SEC / 4, NSEC_PER_SEC);
	receive(&talk);
	assert_int_equal(talk.batch.sequence, 1);
	assert_int_equal(
		virtual_agent_answered(&talk.agent, DUE_NS, 0, (struct bytes_view){}, talk.scratch),
		AGENT_TRIES_AGAIN);
	second_ns = virtual_agent_due_ns(&talk.agent) - DUE_NS;
	assert_in_range(second_ns, 3 * NSEC_PER_SEC / 2, 2 * NSEC_PER_SEC);
	receive(&talk);
	assert_int_equal(acknowledge(&talk), AGENT_ACKNOWLEDGED);
	assert_int_equal(talk.agent.n_acknowledged, 1);
	end(&talk);
}

static void a_batch_that_is_sent_twice_is_counted_once(void **state)
{
	struct conversation talk = {};

	(void)state;
	begin(&talk, 0, 100);
	receive(&talk);
	assert_int_equal(acknowledge(&talk), AGENT_ACKNOWLEDGED);
	receive(&talk);
	assert_int_equal(talk.batch.sequence, 1);
	assert_int_equal(talk.batch.n_rows, 3);
	assert_int_equal(acknowledge(&talk), AGENT_CONTINUES);
	assert_int_equal(talk.agent.sums[EVENT_OFF_CPU], 7000);
	receive(&talk);
	assert_int_equal(talk.batch.sequence, 2);
	end(&talk);
}

static void an_invalid_batch_or_an_answer_to_another_one_is_a_defect(void **state)
{
	Hearth__V1__BatchAnswer message = HEARTH__V1__BATCH_ANSWER__INIT;
	struct conversation talk = {};

	(void)state;
	begin(&talk, 0, 0);
	receive(&talk);
	assert_int_equal(virtual_agent_answered(&talk.agent, DUE_NS, 400, (struct bytes_view){},
						talk.scratch),
			 AGENT_REFUSED);
	message.epoch = talk.batch.epoch + 1;
	message.acknowledged_sequence = talk.batch.sequence;
	assert_int_equal(answer(&talk, &message), AGENT_REFUSED);
	message.epoch = talk.batch.epoch;
	message.acknowledged_sequence = talk.batch.sequence + 1;
	assert_int_equal(answer(&talk, &message), AGENT_REFUSED);
	end(&talk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_agent_that_starts_late_first_sends_the_definitions_before),
		cmocka_unit_test(an_agent_that_the_server_forgot_sends_its_batch_at_once),
		cmocka_unit_test(batches_follow_in_order_also_in_the_next_lap),
		cmocka_unit_test(unknown_numbers_are_defined_before_the_same_batch_is_sent_again),
		cmocka_unit_test(
			a_server_that_lost_an_epoch_gets_its_definitions_in_a_later_lap_too),
		cmocka_unit_test(a_refused_or_unanswered_batch_is_repeated_after_a_growing_pause),
		cmocka_unit_test(a_batch_that_is_sent_twice_is_counted_once),
		cmocka_unit_test(an_invalid_batch_or_an_answer_to_another_one_is_a_defect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
