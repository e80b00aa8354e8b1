/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include <pthread.h>
#include <time.h>

#include "symbolizer/ingest/ingest.h"
#include "symbolizer/store/sqlite/sqlite_store.h"
#include "tests/support/batch_builder.h"
#include "tests/support/store_view.h"

/*
 * ingest_batch() on whole request bodies, and the answers to the agent.
 */

#define NOON (UINT64_C(1767268800) * NSEC_PER_SEC) /* 2026-01-01 12:00 UTC */

struct fixture {
	struct clock clock;
	uint64_t now_ns;
	char *folder;
	struct store *store;
	struct debuginfo_store *debuginfo;
	struct ingest *ingest;
};

static uint64_t fixture_now(const struct clock *clock)
{
	return container_of(clock, struct fixture, clock)->now_ns;
}

static void start_server(struct fixture *fixture)
{
	assert_ok(sqlite_store_open(fixture->folder, &fixture->clock, &fixture->store));
	assert_ok(debuginfo_store_open(fixture->folder, &fixture->clock, &fixture->debuginfo));
	assert_ok(
		ingest_new(fixture->store, fixture->debuginfo, &fixture->clock, &fixture->ingest));
}

static void stop_server(struct fixture *fixture)
{
	fixture->ingest = ingest_free(fixture->ingest);
	fixture->debuginfo = debuginfo_store_free(fixture->debuginfo);
	fixture->store = store_free(fixture->store);
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->clock = (struct clock){ .monotonic_ns = fixture_now, .wall_ns = fixture_now };
	fixture->now_ns = NOON;
	assert_ok(temp_folder_setup((void **)&fixture->folder));
	start_server(fixture);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	stop_server(fixture);
	assert_ok(temp_folder_teardown((void **)&fixture->folder));
	free(fixture);
	return 0;
}

/* A batch of @agent with executable 1 (build-ID @agent + 100) and the kernel (build-ID 200). */
static struct batch_builder *batch_of(uint8_t agent, uint64_t sequence, bool defined)
{
	const struct batch_frame frames[] = { { FRAME_KERNEL, 2, 16 },
					      { FRAME_NATIVE, 1, 0x1000 } };
	struct batch_builder *builder =
		batch_builder_new(agent, 7, sequence, NOON - NSEC_PER_SEC, NOON);
	struct executable_id id = test_build_id((uint8_t)(agent + 100));
	struct executable_id kernel = test_build_id(200);

	if (defined) {
		batch_builder_executable(builder, 1, &id, "server", ROLE_USER);
		batch_builder_executable(builder, 2, &kernel, "[kernel]", ROLE_KERNEL);
		batch_builder_process(builder, 1, 4711, 99, "server", 1);
		batch_builder_series(builder, 1, 1, 4711, "server", EVENT_ON_CPU,
				     10 * NSEC_PER_MSEC);
		batch_builder_stack(builder, 1, STACK_CUT_NONE, frames, 2);
	}
	batch_builder_row(builder, 1, 1, NOON - NSEC_PER_SEC, 1);
	return builder;
}

/* @clock: the header of the agent, or NULL. */
static int ingest_body(struct fixture *fixture, const struct bytes *body, const char *clock,
		       struct bytes *answer, struct ingest_result *ret_result)
{
	const struct ingest_request request = {
		.tenant = "default",
		.body = bytes_view_of(body),
		.clock = clock,
	};

	return ingest_batch(fixture->ingest, &request, answer, ret_result);
}

/* Returns the answer, to be freed with hearth__v1__batch_answer__free_unpacked(). */
static Hearth__V1__BatchAnswer *send_batch(struct fixture *fixture, struct batch_builder *builder,
					   struct ingest_result *result)
{
	scoped(bytes_release) struct bytes answer = BYTES_INIT(MIB);
	scoped(bytes_release) struct bytes body = BYTES_INIT(MIB);
	Hearth__V1__BatchAnswer *unpacked;

	batch_builder_finish(builder, &body);
	assert_ok(ingest_body(fixture, &body, NULL, &answer, result));
	unpacked = hearth__v1__batch_answer__unpack(NULL, answer.size, answer.data);
	assert_non_null(unpacked);
	return unpacked;
}

static void free_answer(Hearth__V1__BatchAnswer **answer)
{
	hearth__v1__batch_answer__free_unpacked(*answer, NULL);
}

#define scoped_answer scoped(free_answer) Hearth__V1__BatchAnswer *

static void a_stored_batch_is_acknowledged(void **state)
{
	struct ingest_result result;
	scoped_answer answer = send_batch(*state, batch_of(1, 5, true), &result);

	assert_true(result.stored);
	assert_int_equal(result.n_rows, 1);
	assert_int_equal(answer->epoch, 7);
	assert_int_equal(answer->acknowledged_sequence, 5);
	assert_int_equal(answer->n_unknown_stacks, 0);
}

static void a_duplicate_is_acknowledged(void **state)
{
	struct ingest_result result;
	scoped_answer first = send_batch(*state, batch_of(1, 5, true), &result);
	scoped_answer second = send_batch(*state, batch_of(1, 5, true), &result);

	assert_int_equal(first->acknowledged_sequence, 5);
	assert_false(result.stored);
	assert_int_equal(second->acknowledged_sequence, 5);
}

static void unknown_numbers_are_requested_and_nothing_is_acknowledged(void **state)
{
	struct ingest_result result;
	scoped_answer answer = send_batch(*state, batch_of(1, 5, false), &result);

	assert_false(result.stored);
	assert_int_equal(answer->epoch, 7);
	assert_int_equal(answer->acknowledged_sequence, 0);
	assert_int_equal(answer->n_unknown_stacks, 1);
	assert_int_equal(answer->unknown_stacks[0], 1);
	assert_int_equal(answer->n_unknown_series, 1);
	assert_int_equal(answer->n_wanted, 0);
	assert_non_null(strstr(result.message, "1 stacks, 1 series"));
}

static void a_body_that_is_no_batch_is_ebadmsg(void **state)
{
	struct fixture *fixture = *state;
	scoped(bytes_release) struct bytes answer = BYTES_INIT(MIB);
	struct bytes_view body = { (const uint8_t *)"hello", 5 };
	struct ingest_result result;

	assert_errno(ingest_batch(fixture->ingest,
				  &(struct ingest_request){ .tenant = "default", .body = body },
				  &answer, &result),
		     -EBADMSG);
	assert_true(result.message[0] != '\0');
	assert_int_equal(answer.size, 0);
}

#define HOUR (UINT64_C(3600) * NSEC_PER_SEC)

/* The clocks of an agent, which reads @wall_ns now. Its host runs since BUILDER_BOOT_WALL_NS. */
static void format_clock(uint64_t wall_ns, uint64_t true_ns, char ret_text[128])
{
	unsigned long long monotonic_ns = true_ns - BUILDER_BOOT_WALL_NS;

	(void)snprintf(ret_text, 128, "%llu %llu %llu " BUILDER_BOOT_ID,
		       (unsigned long long)wall_ns, monotonic_ns, monotonic_ns);
}

static void a_batch_of_a_wrong_clock_is_kept_by_its_agent(void **state)
{
	static const struct {
		uint64_t server_ns, agent_ns; /* 0: without the header */
		int result;
		const char *says;
	} cases[] = {
		{ NOON - 25 * HOUR, 0, -ETIME, "clock of host 'host-1' is 90000 s ahead of the" },
		{ NOON - 48 * HOUR, NOON, -ETIME, "clock of host 'host-1' is 172800 s ahead of" },
		{ NOON + 240 * HOUR, NOON, -ETIME,
		  "clock of host 'host-1' is 864000 s behind the" },
		{ NOON - HOUR, 0, 0, NULL },
		{ NOON - 23 * HOUR, NOON, 0, NULL },
		{ NOON + 23 * HOUR, NOON, 0, NULL },
		{ NOON + 720 * HOUR, 0, 0, NULL },
		/* From the spool. */
		{ NOON + 720 * HOUR, NOON + 720 * HOUR, 0, NULL },
		{ NOON + 367 * 24 * HOUR, 0, -EBADMSG,
		  "time of a batch of host 'host-1' is 31708800 s behind the server's clock" },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(bytes_release) struct bytes answer = BYTES_INIT(MIB);
		scoped(bytes_release) struct bytes body = BYTES_INIT(MIB);
		struct ingest_result result;
		char clock[128];

		batch_builder_finish(batch_of(1, i + 1, true), &body);
		fixture->now_ns = cases[i].server_ns;
		format_clock(cases[i].agent_ns, MAX(cases[i].agent_ns, NOON), clock);
		assert_errno(ingest_body(fixture, &body, cases[i].agent_ns ? clock : NULL, &answer,
					 &result),
			     cases[i].result);
		assert_int_equal(result.stored, cases[i].result == 0);
		if (cases[i].says && !strstr(result.message, cases[i].says))
			fail_msg("'%s'", result.message);
	}
}

/* The clock of the server jumps 10 days ahead, beyond the retention, and is set again. */
static void nothing_is_refused_for_good_while_the_servers_clock_is_wrong(void **state)
{
	struct fixture *fixture = *state;
	scoped(bytes_release) struct bytes answer = BYTES_INIT(MIB);
	scoped(bytes_release) struct bytes body = BYTES_INIT(MIB);
	struct ingest_result result;
	char clock[128];

	store_set_retention(fixture->store, 7 * 24 * HOUR);
	batch_builder_finish(batch_of(1, 1, true), &body);
	format_clock(NOON + 5 * NSEC_PER_SEC, NOON + 5 * NSEC_PER_SEC, clock);
	fixture->now_ns = NOON + 240 * HOUR;
	assert_errno(ingest_body(fixture, &body, clock, &answer, &result), -ETIME);
	assert_int_equal(ingest_count_wrong_clocks(fixture->ingest), 1);
	assert_false(result.too_old);

	fixture->now_ns = NOON + 5 * NSEC_PER_SEC;
	assert_ok(ingest_body(fixture, &body, clock, &answer, &result));
	assert_true(result.stored);
	assert_int_equal(ingest_count_wrong_clocks(fixture->ingest), 0);
}

/* The host booted with its clock 30 days behind. It is set while the batch waits in the spool. */
static void a_batch_is_stored_at_the_right_time_after_its_agents_clock_was_set(void **state)
{
	struct fixture *fixture = *state;
	scoped(store_view_closep) struct store_view *view = NULL;
	scoped(arena_freep) struct arena *arena = NULL;
	scoped(bytes_release) struct bytes answer = BYTES_INIT(MIB);
	scoped(bytes_release) struct bytes body = BYTES_INIT(MIB);
	struct store_host *hosts;
	struct ingest_result result;
	size_t n_hosts;
	char clock[128];

	fixture->now_ns = NOON + 720 * HOUR;
	store_set_retention(fixture->store, 7 * 24 * HOUR);
	batch_builder_finish(batch_of(1, 1, true), &body);
	/* A minute of monotonic time after the batch was closed. */
	format_clock(fixture->now_ns, NOON + 60 * NSEC_PER_SEC, clock);
	assert_ok(ingest_body(fixture, &body, clock, &answer, &result));
	assert_true(result.stored);
	assert_ok(arena_new(MIB, &arena));
	view = open_view(fixture->store, "default");
	assert_ok(store_list_hosts(view, arena, &hosts, &n_hosts));
	assert_int_equal(n_hosts, 1);
	assert_int_equal(hosts[0].last_seen_ns, fixture->now_ns - 60 * NSEC_PER_SEC);
}

static void a_batch_older_than_the_retention_is_refused_with_its_age(void **state)
{
	struct fixture *fixture = *state;
	scoped(bytes_release) struct bytes answer = BYTES_INIT(MIB);
	scoped(bytes_release) struct bytes body = BYTES_INIT(MIB);
	struct ingest_result result;

	store_set_retention(fixture->store, UINT64_C(24 * 3600) * NSEC_PER_SEC);
	/* Hour by hour: a clock that jumps by days is in doubt. */
	for (int i = 0; i < 3 * 24; i++) {
		size_t removed;

		fixture->now_ns += HOUR;
		assert_ok(store_retain(fixture->store, &removed));
	}
	batch_builder_finish(batch_of(1, 1, true), &body);
	assert_errno(ingest_body(fixture, &body, NULL, &answer, &result), -EBADMSG);
	assert_true(result.too_old);
	assert_string_equal(result.message, "the batch of host 'host-1' ended 259200 s ago, which "
					    "is beyond this server's retention");
}

static const Hearth__V1__Wanted *wanted_of(const Hearth__V1__BatchAnswer *answer, uint8_t build_id)
{
	for (size_t i = 0; i < answer->n_wanted; i++)
		if (answer->wanted[i]->id.data[0] == build_id)
			return answer->wanted[i];
	return NULL;
}

static void one_agent_at_a_time_is_asked_for_an_executable(void **state)
{
	struct ingest_result result;
	scoped_answer first = send_batch(*state, batch_of(1, 1, true), &result);
	scoped_answer second = send_batch(*state, batch_of(2, 1, true), &result);

	assert_int_equal(first->n_wanted, 2);
	assert_int_equal(wanted_of(first, 101)->what, 1);
	assert_int_equal(wanted_of(first, 101)->id.len, 20);
	assert_int_equal(wanted_of(first, 101)->id_kind, EXECUTABLE_ID_GNU);
	assert_string_equal(wanted_of(first, 101)->name, "server");
	assert_int_equal(wanted_of(first, 200)->what, 3);
	/* The second host runs the same kernel. */
	assert_int_equal(second->n_wanted, 1);
	assert_non_null(wanted_of(second, 102));
}

static void after_ten_minutes_another_agent_is_asked(void **state)
{
	struct fixture *fixture = *state;
	struct ingest_result result;
	scoped_answer first = send_batch(fixture, batch_of(1, 1, true), &result);
	scoped_answer second = send_batch(fixture, batch_of(2, 1, true), &result);
	scoped_answer soon = NULL;
	scoped_answer late = NULL;

	assert_non_null(wanted_of(first, 200));
	assert_null(wanted_of(second, 200));
	fixture->now_ns += 599 * NSEC_PER_SEC;
	soon = send_batch(fixture, batch_of(2, 2, false), &result);
	assert_int_equal(soon->n_wanted, 0);
	fixture->now_ns += 2 * NSEC_PER_SEC;
	late = send_batch(fixture, batch_of(2, 3, false), &result);
	assert_non_null(wanted_of(late, 200));
}

static void a_restarted_server_reloads_the_executables_of_agents(void **state)
{
	struct fixture *fixture = *state;
	struct ingest_result result;
	scoped_answer first = send_batch(fixture, batch_of(1, 1, true), &result);
	scoped_answer second = NULL;

	assert_int_equal(first->n_wanted, 2);
	stop_server(fixture);
	start_server(fixture);
	/* The agent does not repeat acknowledged definitions. */
	second = send_batch(fixture, batch_of(1, 2, false), &result);
	assert_true(result.stored);
	assert_int_equal(second->n_wanted, 2);
	assert_non_null(wanted_of(second, 101));
	assert_int_equal(wanted_of(second, 200)->what, 3);
}

static void an_answer_requests_at_most_64_executables(void **state)
{
	struct fixture *fixture = *state;
	struct batch_builder *builder = batch_of(1, 1, true);
	struct ingest_result result;
	size_t n_wanted = 0;

	for (uint32_t i = 0; i < 90; i++) {
		struct executable_id id = test_build_id((uint8_t)(i + 1));

		batch_builder_executable(builder, 10 + i, &id, "lib", ROLE_USER);
	}
	ingest_set_policy(fixture->ingest, INGEST_WANTS_DEBUG_SECTIONS);
	for (uint64_t sequence = 1; sequence <= 6; sequence++) {
		scoped_answer answer = send_batch(
			fixture, sequence == 1 ? builder : batch_of(1, sequence, false), &result);

		assert_true(answer->n_wanted <= 64);
		for (size_t i = 0; i < answer->n_wanted; i++)
			assert_int_equal(answer->wanted[i]->what,
					 answer->wanted[i]->id.data[0] == 200 ? 3 : 2);
		n_wanted += answer->n_wanted;
	}
	assert_int_equal(n_wanted, 92);
}

static void debuginfo_lookups_of_one_batch_are_bounded(void **state)
{
	enum { N_ASKED = 256, N_NEW = 4 };
	struct batch_builder *builder = batch_of(2, 1, true);
	struct fixture *fixture = *state;
	struct ingest_result result;
	scoped_answer answer = NULL;
	size_t n_late = 0;

	for (uint32_t i = 0; i < N_ASKED + N_NEW; i++) {
		const uint8_t bytes[20] = { 1, (uint8_t)i, (uint8_t)(i >> 8) };
		const uint8_t somebody[16] = { 77 };
		struct executable_id id;

		assert_ok(executable_id_set(&id, EXECUTABLE_ID_GNU, bytes, sizeof(bytes)));
		batch_builder_executable(builder, 10 + i, &id, "lib", ROLE_USER);
		if (i < N_ASKED)
			assert_true(debuginfo_want(fixture->debuginfo, &id, somebody) > 0);
	}
	/* The first two are those of the batch; the other lookups found earlier requests. */
	answer = send_batch(fixture, builder, &result);
	assert_int_equal(answer->n_wanted, 2);
	/* Later batches check the rest. */
	for (uint64_t sequence = 2; sequence < 8; sequence++) {
		scoped_answer late = send_batch(fixture, batch_of(2, sequence, false), &result);

		n_late += late->n_wanted;
	}
	assert_int_equal(n_late, N_NEW);
}

/* A store that returns the executables of an agent after it has stored a batch of another. */
struct slow_store {
	struct store_operations operations; /* of the real store, except agent_executables */
	struct fixture *fixture;
	bool is_waiting;
	bool other_went_through;
};

static void *send_of_known_agent(void *arg)
{
	struct fixture *fixture = arg;
	struct ingest_result result;
	scoped_answer answer = send_batch(fixture, batch_of(1, 2, false), &result);

	assert_non_null(answer);
	assert_true(result.stored);
	return NULL;
}

static int wait_for_other_batch(struct store *store, const char *tenant,
				const struct hash128 *agent, uint64_t epoch, size_t max,
				struct arena *arena, struct store_executable **ret_executables,
				size_t *ret_count)
{
	struct slow_store *slow = container_of(store->operations, struct slow_store, operations);
	struct timespec deadline;
	pthread_t thread;

	(void)tenant;
	(void)agent;
	(void)epoch;
	(void)max;
	(void)arena;
	*ret_executables = NULL;
	*ret_count = 0;
	/* The other batch does not call this function again: its agent is known. */
	assert_false(slow->is_waiting);
	slow->is_waiting = true;
	assert_int_equal(pthread_create(&thread, NULL, send_of_known_agent, slow->fixture), 0);
	(void)clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += 10;
	slow->other_went_through = pthread_timedjoin_np(thread, NULL, &deadline) == 0;
	if (!slow->other_went_through)
		(void)pthread_detach(thread);
	return 0;
}

static void reloading_a_new_agent_does_not_block_other_agents(void **state)
{
	struct fixture *fixture = *state;
	struct ingest_result result;
	scoped_answer known = send_batch(fixture, batch_of(1, 1, true), &result);
	scoped_answer new = NULL;
	const struct store_operations *real = fixture->store->operations;
	struct slow_store slow = { .operations = *real, .fixture = fixture };

	slow.operations.agent_executables = wait_for_other_batch;
	fixture->store->operations = &slow.operations;
	new = send_batch(fixture, batch_of(2, 1, true), &result);
	fixture->store->operations = real;
	assert_true(slow.is_waiting);
	assert_true(slow.other_went_through);
	assert_int_equal(known->n_wanted, 2);
	assert_int_equal(new->n_wanted, 1);
}

int main(void)
{
#define with_server(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		with_server(a_stored_batch_is_acknowledged),
		with_server(a_duplicate_is_acknowledged),
		with_server(unknown_numbers_are_requested_and_nothing_is_acknowledged),
		with_server(a_body_that_is_no_batch_is_ebadmsg),
		with_server(a_batch_of_a_wrong_clock_is_kept_by_its_agent),
		with_server(nothing_is_refused_for_good_while_the_servers_clock_is_wrong),
		with_server(a_batch_is_stored_at_the_right_time_after_its_agents_clock_was_set),
		with_server(a_batch_older_than_the_retention_is_refused_with_its_age),
		with_server(one_agent_at_a_time_is_asked_for_an_executable),
		with_server(after_ten_minutes_another_agent_is_asked),
		with_server(a_restarted_server_reloads_the_executables_of_agents),
		with_server(an_answer_requests_at_most_64_executables),
		with_server(debuginfo_lookups_of_one_batch_are_bounded),
		with_server(reloading_a_new_agent_does_not_block_other_agents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
