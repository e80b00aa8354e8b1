/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replayed batches are checked with the server's decoder.
 */
#include "tests/support/unit.h"

#include "symbolizer/ingest/batch_decoder.h"
#include "tests/bench/fleet/replay.h"
#include "tests/unit/tests/bench/fleet/small_capture.h"

/* 2026-01-01 00:00 UTC and a half slot */
#define OPENED_WALL_NS (UINT64_C(1767225600) * NSEC_PER_SEC + SLOT_NS / 2)

struct replayed {
	struct capture *capture;
	struct arena *arena, *scratch;
};

static int setup(void **state)
{
	struct replayed *replayed = calloc(1, sizeof(*replayed));

	if (!replayed || arena_new(BATCH_MAX_DECODED_BYTES, &replayed->arena) < 0 ||
	    arena_new(BATCH_MAX_DECODED_BYTES, &replayed->scratch) < 0)
		return -1;
	replayed->capture = small_capture();
	*state = replayed;
	return 0;
}

static int teardown(void **state)
{
	struct replayed *replayed = *state;

	(void)capture_free(replayed->capture);
	(void)arena_free(replayed->arena);
	(void)arena_free(replayed->scratch);
	free(replayed);
	return 0;
}

static struct replay_host host_of(const struct replayed *replayed, uint32_t index)
{
	struct replay_host host;

	replay_host_init(&host, replayed->capture, index, OPENED_WALL_NS);
	return host;
}

static struct batch decode_replay(struct replayed *replayed, const struct replay *replay,
				  const Hearth__V1__Batch *message)
{
	scoped(bytes_release) struct bytes body = BYTES_INIT(MIB);
	char reason[DECODE_MESSAGE_SIZE];
	struct batch batch;

	assert_ok(replay_encode(replay, message, 42, replayed->scratch, &body));
	if (batch_decode(bytes_view_of(&body), replayed->arena, &batch, reason) < 0)
		fail_msg("%s", reason);
	return batch;
}

static struct batch decode(struct replayed *replayed, const struct replay_host *host, uint64_t lap,
			   const Hearth__V1__Batch *message)
{
	const struct replay replay = { .capture = replayed->capture, .host = host, .lap = lap };

	return decode_replay(replayed, &replay, message);
}

/* A batch with all definitions of the captured one. */
static struct batch decode_complete(struct replayed *replayed, const struct replay_host *host,
				    uint64_t lap, size_t index)
{
	const struct replay replay = {
		.capture = replayed->capture, .host = host, .lap = lap, .keeps_definitions = true
	};

	return decode_replay(replayed, &replay, replayed->capture->batches[index].message);
}

static struct batch decode_batch(struct replayed *replayed, const struct replay_host *host,
				 uint64_t lap, size_t index)
{
	return decode(replayed, host, lap, replayed->capture->batches[index].message);
}

static void assert_same_frames(const struct batch_stack *a, const struct batch_stack *b)
{
	assert_int_equal(a->n_frames, b->n_frames);
	for (uint32_t i = 0; i < a->n_frames; i++) {
		assert_int_equal(a->frames[i].kind, b->frames[i].kind);
		assert_int_equal(a->frames[i].object, b->frames[i].object);
		assert_int_equal(a->frames[i].address, b->frames[i].address);
	}
}

static void a_replayed_batch_has_the_rows_of_the_captured_one_at_its_own_time(void **state)
{
	struct replayed *replayed = *state;
	const struct replay_host host = host_of(replayed, 7);

	for (size_t index = 0; index < 2; index++) {
		const struct batch *before = &replayed->capture->batches[index].batch;
		struct batch after = decode_complete(replayed, &host, 3, index);
		uint64_t moved_ns = after.closed_wall_ns - before->closed_wall_ns;

		assert_int_equal(after.n_rows, before->n_rows);
		for (uint32_t i = 0; i < after.n_rows; i++) {
			assert_int_equal(after.rows[i].series, before->rows[i].series);
			assert_int_equal(after.rows[i].stack, before->rows[i].stack);
			assert_int_equal(after.rows[i].value, before->rows[i].value);
			/* The distance of the slot to the end of the batch, within one slot. */
			assert_in_range(after.rows[i].slot * SLOT_NS + SLOT_NS -
						before->rows[i].slot * SLOT_NS - moved_ns,
					0, 2 * SLOT_NS);
		}
		assert_int_equal(after.n_stacks, before->n_stacks);
		for (uint32_t i = 0; i < after.n_stacks; i++)
			assert_same_frames(&after.stacks[i], &before->stacks[i]);
		assert_int_equal(after.sequence, 42);
	}
}

static void hosts_differ_in_everything_that_identifies_a_host(void **state)
{
	struct replayed *replayed = *state;
	const struct replay_host hosts[] = { host_of(replayed, 1), host_of(replayed, 2) };
	struct batch a = decode_batch(replayed, &hosts[0], 0, 0);
	struct batch b = decode_batch(replayed, &hosts[1], 0, 0);

	assert_false(hash128_equal(&a.agent_id, &b.agent_id));
	assert_string_equal(a.host.name, "host-00001");
	assert_string_not_equal(a.host.name, b.host.name);
	assert_string_not_equal(a.host.machine_id, b.host.machine_id);
	assert_string_not_equal(a.host.boot_id, b.host.boot_id);
	assert_int_equal(a.host.n_ips, 1);
	assert_string_equal(a.host.ips[0], "10.0.0.1");
	assert_string_not_equal(a.host.ips[0], b.host.ips[0]);
	assert_int_not_equal(a.processes[0].pid, b.processes[0].pid);
	assert_int_not_equal(a.processes[0].start_time_ns, b.processes[0].start_time_ns);
	assert_int_equal(a.opened_wall_ns, b.opened_wall_ns);
	assert_int_equal(a.opened_wall_ns, OPENED_WALL_NS);
	/* Names are those of the capture. */
	assert_string_equal(a.processes[0].name, "nginx");
	assert_string_equal(b.processes[0].paths[0].path, "/usr/lib/libc.so.6");
}

static void threads_and_children_stay_with_their_process(void **state)
{
	struct replayed *replayed = *state;

	for (uint32_t index = 0; index < 200; index++) {
		const struct replay_host host = host_of(replayed, index);
		struct batch first = decode_complete(replayed, &host, 5, 0);
		struct batch second = decode_complete(replayed, &host, 5, 1);

		assert_int_equal(first.series[0].tid, first.processes[0].pid);
		assert_int_equal(first.series[1].tid, first.processes[1].pid);
		assert_int_equal(first.processes[1].parent_pid, first.processes[0].pid);
		assert_int_not_equal(first.processes[1].pid, first.processes[0].pid);
		assert_int_not_equal(second.series[0].tid, first.processes[0].pid);
		assert_int_equal(second.processes[0].pid, first.processes[1].pid);
	}
}

static void only_processes_that_started_in_the_capture_are_new_in_a_lap(void **state)
{
	struct replayed *replayed = *state;
	const struct replay_host host = host_of(replayed, 1);
	struct batch a = decode_batch(replayed, &host, 0, 0);
	struct batch b = decode_complete(replayed, &host, 1, 0);

	assert_int_equal(a.processes[0].pid, b.processes[0].pid);
	assert_int_equal(a.processes[0].start_time_ns, b.processes[0].start_time_ns);
	assert_int_not_equal(a.processes[1].pid, b.processes[1].pid);
	assert_int_equal(b.processes[1].start_time_ns - a.processes[1].start_time_ns,
			 replay_lap_ns(replayed->capture));
}

static void a_later_lap_defines_only_new_processes_and_their_series(void **state)
{
	struct replayed *replayed = *state;
	const struct replay_host host = host_of(replayed, 1);
	struct batch a = decode_complete(replayed, &host, 1, 0);
	struct batch b = decode_batch(replayed, &host, 1, 0);

	assert_int_equal(b.n_rows, a.n_rows);
	assert_int_equal(b.n_stacks + b.n_executables + b.n_code_objects, 0);
	assert_int_equal(b.n_processes, 1);
	assert_int_equal(b.processes[0].number, 2);
	assert_int_equal(b.processes[0].pid, a.processes[1].pid);
	assert_string_equal(b.processes[0].name, "tool");
	assert_string_equal(b.processes[0].executable_path, "/bin/tool");
	assert_int_equal(b.n_series, 1);
	assert_int_equal(b.series[0].number, 3);
	assert_string_equal(b.series[0].thread_name, a.series[1].thread_name);
}

static void a_lap_begins_a_slot_or_less_after_the_one_before_in_the_same_epoch(void **state)
{
	struct replayed *replayed = *state;
	const struct replay_host host = host_of(replayed, 1);
	struct batch last = decode_batch(replayed, &host, 0, 1);
	struct batch next = decode_batch(replayed, &host, 1, 0);

	assert_in_range(next.opened_wall_ns - last.closed_wall_ns, 0, SLOT_NS);
	assert_int_equal(next.epoch, last.epoch);
	assert_memory_equal(&next.agent_id, &last.agent_id, sizeof(next.agent_id));
}

static void the_chosen_share_of_user_executables_is_the_hosts_own(void **state)
{
	struct replayed *replayed = *state;
	struct replay_host host = host_of(replayed, 1), other = host_of(replayed, 2);
	const struct batch *captured = &replayed->capture->batches[0].batch;
	struct batch a, b;

	a = decode_batch(replayed, &host, 0, 0);
	assert_true(executable_id_equal(&a.executables[1].id, &captured->executables[1].id));
	host.own_executables_pct = other.own_executables_pct = 100;
	a = decode_batch(replayed, &host, 0, 0);
	b = decode_batch(replayed, &other, 0, 0);
	assert_true(executable_id_equal(&a.executables[0].id, &captured->executables[0].id));
	assert_false(executable_id_equal(&a.executables[1].id, &captured->executables[1].id));
	assert_false(executable_id_equal(&a.executables[1].id, &b.executables[1].id));
	/* In later batches of the same host, the executable has the same identity. */
	b = decode_complete(replayed, &host, 9, 0);
	assert_true(executable_id_equal(&a.executables[1].id, &b.executables[1].id));
}

static void encoding_leaves_the_capture_unchanged(void **state)
{
	struct replayed *replayed = *state;
	const struct replay_host host = host_of(replayed, 3);
	struct batch a = decode_complete(replayed, &host, 2, 0);
	struct batch b;

	(void)decode_batch(replayed, &host, 8, 0);
	b = decode_complete(replayed, &host, 2, 0);
	assert_int_equal(a.rows[0].slot, b.rows[0].slot);
	assert_int_equal(a.processes[1].pid, b.processes[1].pid);
	assert_int_equal(a.closed_wall_ns, b.closed_wall_ns);
}

static void definitions_are_the_last_ones_before_a_place_of_the_capture(void **state)
{
	struct replayed *replayed = *state;
	const struct replay_host host = host_of(replayed, 3);
	scoped(batch_builder_freep) struct batch_builder *builder = NULL;
	Hearth__V1__Batch *message;
	struct batch all;

	assert_ok(replay_definitions(replayed->capture, 2, NULL, &builder, &message));
	all = decode(replayed, &host, 0, message);
	assert_int_equal(all.n_rows, 0);
	assert_int_equal(all.n_executables, 3);
	assert_int_equal(all.n_processes, 2);
	assert_int_equal(all.processes[0].number, 2);
	assert_string_equal(all.processes[0].name, "tool-renamed");
	assert_string_equal(all.processes[0].executable_path, "/bin/tool");
	assert_string_equal(all.processes[1].labels[0].value, "web");
	assert_int_equal(all.n_series, 3);
	assert_int_equal(all.n_stacks, 3);
	assert_int_equal(all.n_named_frames, 1);
	/* A message of definitions covers no time. */
	assert_int_equal(all.opened_wall_ns, all.closed_wall_ns);
}

static void only_wanted_numbers_are_defined(void **state)
{
	struct replayed *replayed = *state;
	const struct replay_host host = host_of(replayed, 3);
	scoped(batch_builder_freep) struct batch_builder *builder = NULL;
	Hearth__V1__BatchAnswer unknown = HEARTH__V1__BATCH_ANSWER__INIT;
	Hearth__V1__Batch *message;
	struct batch some;

	unknown.unknown_stacks = (uint32_t[]){ 2 };
	unknown.n_unknown_stacks = 1;
	unknown.unknown_processes = (uint32_t[]){ 1 };
	unknown.n_unknown_processes = 1;
	assert_ok(replay_definitions(replayed->capture, 2, &unknown, &builder, &message));
	some = decode(replayed, &host, 0, message);
	assert_int_equal(some.n_executables, 0);
	assert_int_equal(some.n_series, 0);
	assert_int_equal(some.n_processes, 1);
	assert_int_equal(some.processes[0].number, 1);
	assert_int_equal(some.n_stacks, 1);
	assert_int_equal(some.stacks[0].number, 2);
	assert_int_equal(some.stacks[0].frames[0].address, 0x3000);
}

static void definitions_of_format_2_keep_code_objects_event_types_and_labels(void **state)
{
	struct replayed *replayed = *state;
	scoped(batch_builder_freep) struct batch_builder *builder = NULL;
	Hearth__V1__BatchAnswer unknown = HEARTH__V1__BATCH_ANSWER__INIT;
	Hearth__V1__Batch *message;
	struct replay_host host;
	struct batch some;

	(void)capture_free(replayed->capture);
	replayed->capture = small_capture_format_2();
	host = host_of(replayed, 3);
	unknown.unknown_code_objects = unknown.unknown_series = unknown.unknown_stacks =
		(uint32_t[]){ 1 };
	unknown.n_unknown_code_objects = unknown.n_unknown_series = unknown.n_unknown_stacks = 1;
	assert_ok(replay_definitions(replayed->capture, 1, &unknown, &builder, &message));
	some = decode(replayed, &host, 0, message);
	assert_int_equal(some.n_processes, 0);
	assert_int_equal(some.n_code_objects, 1);
	assert_string_equal(some.code_objects[0].qualified_name, "Mail.handler");
	assert_int_equal(some.n_series, 1);
	assert_string_equal(some.series[0].described->name, "requests");
	assert_string_equal(some.series[0].labels[0].value, "mail");
	assert_int_equal(some.n_stacks, 1);
	assert_int_equal(some.stacks[0].frames[0].object, FRAME_CODE_OBJECT | 1);
	assert_int_equal(some.stacks[0].frames[0].address, 7);
	assert_int_equal(decode_batch(replayed, &host, 0, 0).rows[0].value, 3);
}

#define replay_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		replay_test(a_replayed_batch_has_the_rows_of_the_captured_one_at_its_own_time),
		replay_test(hosts_differ_in_everything_that_identifies_a_host),
		replay_test(threads_and_children_stay_with_their_process),
		replay_test(only_processes_that_started_in_the_capture_are_new_in_a_lap),
		replay_test(a_later_lap_defines_only_new_processes_and_their_series),
		replay_test(a_lap_begins_a_slot_or_less_after_the_one_before_in_the_same_epoch),
		replay_test(the_chosen_share_of_user_executables_is_the_hosts_own),
		replay_test(encoding_leaves_the_capture_unchanged),
		replay_test(definitions_are_the_last_ones_before_a_place_of_the_capture),
		replay_test(only_wanted_numbers_are_defined),
		replay_test(definitions_of_format_2_keep_code_objects_event_types_and_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
