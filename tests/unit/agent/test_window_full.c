/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens when a window becomes full: agent_drain.c, agent_fold.c, agent_records.c and the
 * postponed waits of the source off-cpu, with fakes of the ring buffer, the collector, the walk,
 * and the sender.
 */
#include "agent/agent_internal.h"
#include "agent/event/off_cpu/postponed_waits.h"

#include "tests/support/unit.h"

/* The fake collector is full with this many samples. */
#define FULL_SAMPLES 3

#define MAX_RECORDS 32

struct records {
	struct abi_sample items[MAX_RECORDS];
	size_t count, next;
};

static struct fake {
	struct agent agent;
	struct records ring, walk, parked;
	uint64_t window[MAX_RECORDS]; /* stack hashes of the open window */
	size_t n_in_window;
	size_t closed[MAX_RECORDS]; /* samples of each closed window */
	size_t n_closed;
	uint64_t known_hash; /* a stack that the collector knows */
	bool is_closing;
	bool has_walk; /* off-CPU is enabled */
	struct postponed_waits postponed;
} fake;

static void add(struct records *records, uint64_t stack_hash, uint8_t flags)
{
	assert_true(records->count < MAX_RECORDS);
	records->items[records->count++] = (struct abi_sample){
		.stack_hash = stack_hash,
		.event_type = EVENT_OFF_CPU,
		.flags = flags,
	};
}

static void add_full(struct records *records, size_t count)
{
	for (size_t i = 0; i < count; i++)
		add(records, 100 + i, ABI_SAMPLE_FULL);
}

/* ---- the collector ---- */

int collector_add(struct collector *collector, const struct abi_sample *sample,
		  const struct abi_frame *frames)
{
	(void)collector;
	(void)frames;
	assert_true(fake.n_in_window < MAX_RECORDS);
	fake.window[fake.n_in_window++] = sample->stack_hash;
	if (sample->flags & ABI_SAMPLE_FULL)
		fake.known_hash = sample->stack_hash;
	return 0;
}

bool collector_is_full(const struct collector *collector)
{
	(void)collector;
	return fake.n_in_window >= FULL_SAMPLES;
}

bool collector_knows_stack(const struct collector *collector, uint64_t sample_hash)
{
	(void)collector;
	return sample_hash == fake.known_hash;
}

/* ---- the ring buffer and the walk ---- */

int bpf_programs_read_samples(struct bpf_programs *programs,
			      const struct bpf_record_functions *functions)
{
	int n_samples = 0;

	(void)programs;
	while (fake.ring.next < fake.ring.count) {
		int r = functions->sample(functions->arg, &fake.ring.items[fake.ring.next++], NULL);

		if (r < 0)
			return r;
		n_samples++;
	}
	return n_samples;
}

/* The walk of agent/event/off_cpu/off_cpu_source.c, without its thread. */
static int walk_waits(void)
{
	const struct bpf_record_functions add = {
		.arg = &fake.agent,
		.sample = agent_on_sample,
		.stack_copy = agent_on_stack_copy,
	};
	struct bpf_record_functions functions;
	int r;

	if (!fake.has_walk)
		return 0;
	postponed_waits_init(&fake.postponed, NULL, &add);
	functions = postponed_waits_functions(&fake.postponed);
	assert_ok(agent_read_all_samples(&fake.agent, &functions));
	while (fake.walk.next < fake.walk.count)
		assert_ok(
			functions.sample(functions.arg, &fake.walk.items[fake.walk.next++], NULL));
	r = postponed_waits_add(&fake.postponed);
	assert_int_equal(fake.postponed.samples.size, 0);
	postponed_waits_release(&fake.postponed);
	return r;
}

/* ---- closing a window: as agent_batch.c, with a walk ---- */

int agent_close_window(struct agent *agent)
{
	assert_false(fake.is_closing);
	fake.is_closing = true;
	assert_ok(walk_waits());
	fake.closed[fake.n_closed++] = fake.n_in_window;
	fake.n_in_window = 0;
	agent->window_is_full = false;
	fake.is_closing = false;
	return 0;
}

/* ---- parked records ---- */

int agent_fold_parked(struct agent *agent, uint64_t now_ns)
{
	(void)now_ns;
	while (fake.parked.next < fake.parked.count) {
		assert_ok(agent_fold_sample(agent, &fake.parked.items[fake.parked.next++], NULL));
		if (agent->window_is_full)
			return 1;
	}
	return 0;
}

size_t parked_records_count(const struct parked_records *records)
{
	(void)records;
	return fake.parked.count - fake.parked.next;
}

/* ---- functions that have nothing to do ---- */

int agent_park(struct agent *agent, const struct abi_sample *sample)
{
	(void)agent;
	(void)sample;
	return 0;
}

int agent_park_for_table(struct agent *agent, const struct abi_stack_copy *copy, uint32_t number)
{
	(void)agent;
	(void)copy;
	(void)number;
	return 0;
}

int agent_park_event(struct agent *agent, const struct process_event *event)
{
	(void)agent;
	(void)event;
	return 0;
}

void agent_serve_helpers(struct agent *agent, uint64_t now_ns)
{
	(void)agent;
	(void)now_ns;
}

bool agent_waits_for_names(struct agent *agent, uint64_t now_ns)
{
	(void)agent;
	(void)now_ns;
	return false;
}

bool jit_names_is_busy(const struct jit_names *names)
{
	(void)names;
	return false;
}

void agent_publish(struct agent *agent, uint64_t now_ns)
{
	(void)agent;
	(void)now_ns;
}

int agent_follow_cpus(struct agent *agent)
{
	(void)agent;
	return 0;
}

int bpf_programs_sweep_deferred(struct bpf_programs *programs, uint64_t before_ns)
{
	(void)programs;
	(void)before_ns;
	return 0;
}

int collector_process(struct collector *collector, const struct abi_sample *sample,
		      struct process **ret_process)
{
	(void)collector;
	(void)sample;
	(void)ret_process;
	return -ENOMEM;
}

bool collector_find_stack(const struct collector *collector, uint64_t sample_hash,
			  struct collector_stack *ret_stack)
{
	(void)collector;
	(void)sample_hash;
	(void)ret_stack;
	return false;
}

int copy_unwinder_run(struct copy_unwinder *unwinder, const struct abi_stack_copy *copy,
		      struct process *process, bool may_wait, struct unwound_stack *ret_stack)
{
	(void)unwinder;
	(void)copy;
	(void)process;
	(void)may_wait;
	(void)ret_stack;
	return -ENOMEM;
}

void copy_unwinder_join(struct copy_unwinder *unwinder, const struct collector_stack *began)
{
	(void)unwinder;
	(void)began;
}

int frame_resolver_note_code(struct frame_resolver *resolver, uint64_t start, const char *name)
{
	(void)resolver;
	(void)start;
	(void)name;
	return 0;
}

int helper_pool_fd(const struct helper_pool *pool)
{
	(void)pool;
	return -1;
}

int process_events_read(struct process_events *events)
{
	(void)events;
	return 0;
}

const struct process_event *process_events_next(struct process_events *events, uint64_t until_ns)
{
	(void)events;
	(void)until_ns;
	return NULL;
}

uint64_t process_events_lost(struct process_events *events)
{
	(void)events;
	return 0;
}

int process_table_apply(struct process_table *table, const struct process_event *event)
{
	(void)table;
	(void)event;
	return 0;
}

int process_table_scan(struct process_table *table)
{
	(void)table;
	return 0;
}

static int set_up(void **state)
{
	static const struct agent_config config = { .batch_interval_ns = 3600 * NSEC_PER_SEC };

	(void)state;
	fake = (struct fake){
		.agent = {
			.config = &config,
			.clock = &system_clock,
			.window_opened_ns = clock_monotonic_ns(&system_clock),
		},
		.has_walk = true,
	};
	return 0;
}

/* ---- tests ---- */

static void a_longer_interval_of_the_server_delays_the_end_of_the_window(void **state)
{
	struct agent *agent = &fake.agent;
	uint64_t configured_ns = agent->config->batch_interval_ns;

	(void)state;
	assert_int_equal(agent_window_closes_ns(agent), agent->window_opened_ns + configured_ns);
	agent->server_interval_ns = configured_ns / 2;
	assert_int_equal(agent_window_closes_ns(agent), agent->window_opened_ns + configured_ns);
	agent->server_interval_ns = 2 * configured_ns;
	assert_int_equal(agent_window_closes_ns(agent),
			 agent->window_opened_ns + 2 * configured_ns);
}

static void a_full_window_is_closed_early_instead_of_dropping_samples(void **state)
{
	(void)state;
	add_full(&fake.ring, 2 * FULL_SAMPLES + 2);
	/* The walk of the first close reads the whole ring buffer into that window. */
	assert_ok(agent_drain(&fake.agent));
	assert_int_equal(fake.n_closed, 1);
	assert_int_equal(fake.closed[0], 2 * FULL_SAMPLES + 2);
	assert_int_equal(fake.n_in_window, 0);
	assert_false(fake.agent.window_is_full);
}

static void without_walks_the_rest_of_the_ring_is_added_to_the_next_windows(void **state)
{
	(void)state;
	fake.has_walk = false;
	add_full(&fake.ring, 2 * FULL_SAMPLES + 2);
	assert_ok(agent_drain(&fake.agent));
	assert_int_equal(fake.n_closed, 2);
	assert_int_equal(fake.closed[0], FULL_SAMPLES);
	assert_int_equal(fake.closed[1], FULL_SAMPLES);
	assert_int_equal(fake.n_in_window, 2);
}

/* agent_close_window() of this file fails the test when it is called by itself. */
static void a_walk_that_overfills_the_window_that_is_being_closed_closes_no_other(void **state)
{
	(void)state;
	add_full(&fake.ring, FULL_SAMPLES);
	add_full(&fake.walk, 2 * FULL_SAMPLES);
	assert_ok(agent_drain(&fake.agent));
	assert_int_equal(fake.n_closed, 1);
	assert_int_equal(fake.closed[0], 3 * FULL_SAMPLES);
}

static void a_walk_that_fills_the_window_leaves_it_to_the_main_loop(void **state)
{
	(void)state;
	add_full(&fake.ring, FULL_SAMPLES + 1);
	add_full(&fake.walk, 1);
	assert_ok(walk_waits());
	assert_int_equal(fake.n_closed, 0);
	assert_int_equal(fake.n_in_window, FULL_SAMPLES + 2);
	assert_true(fake.agent.window_is_full);
	/* The next drain closes it even if it reads nothing. */
	assert_ok(agent_drain(&fake.agent));
	assert_int_equal(fake.n_closed, 1);
}

static void the_end_of_a_wait_is_added_after_the_walk_that_has_its_stack(void **state)
{
	(void)state;
	add(&fake.ring, 7, 0);
	add(&fake.ring, 8, ABI_SAMPLE_WITHOUT_STACK);
	add(&fake.walk, 7, ABI_SAMPLE_FULL);
	assert_ok(walk_waits());
	assert_int_equal(fake.n_in_window, 3);
	assert_int_equal(fake.window[0], 8);
	assert_int_equal(fake.window[1], 7);
	assert_int_equal(fake.window[2], 7);
}

static void parked_records_are_divided_between_windows(void **state)
{
	(void)state;
	fake.has_walk = false;
	add_full(&fake.parked, FULL_SAMPLES + 1);
	assert_ok(agent_run_helpers(&fake.agent));
	assert_int_equal(fake.n_closed, 1);
	assert_int_equal(fake.closed[0], FULL_SAMPLES);
	assert_int_equal(fake.n_in_window, 1);
}

#define test(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_longer_interval_of_the_server_delays_the_end_of_the_window),
		test(a_full_window_is_closed_early_instead_of_dropping_samples),
		test(without_walks_the_rest_of_the_ring_is_added_to_the_next_windows),
		test(a_walk_that_overfills_the_window_that_is_being_closed_closes_no_other),
		test(a_walk_that_fills_the_window_leaves_it_to_the_main_loop),
		test(the_end_of_a_wait_is_added_after_the_walk_that_has_its_stack),
		test(parked_records_are_divided_between_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
