/* SPDX-License-Identifier: Apache-2.0 */
/* Random processes of random parts are counted as a plain loop over all samples counts them. */
#include "tests/unit/symbolizer/store/segment_view/view_fixture.h"

#include "symbolizer/store/segment/segment_snapshot.h"
#include "symbolizer/store/segment_view/process_cache.h"

#define N_SERVICES 3
#define N_HOSTS    4
#define N_HOURS    4

/* Few values of each, so that processes are in several parts, and differ in one of them only. */
struct sample {
	unsigned int service, host, hour;
	uint64_t pid, start_time_ns, slot;
	unsigned int name, host_name;
	bool without_stacks;
};

VEC_DEFINE(samples, struct sample);

enum form { FORM_STORED, FORM_MEMORY, FORM_ROLLED_UP, FORM_ROLLUP_ONLY, FORM_COUNT };

struct counts_test {
	struct arena *arena;
	struct samples samples;
	VEC_DEFINE(, struct segment_part) parts;
	bool samples_removed[N_HOURS];
	uint64_t random;
	size_t n_fetched;
};

struct fetched {
	struct counts_test *test;
	struct bytes_view bytes;
};

static uint64_t below(struct counts_test *test, uint64_t limit)
{
	return model_random(&test->random) % limit;
}

static int fetch(void *arg, struct bytes *out)
{
	const struct fetched *fetched = arg;

	fetched->test->n_fetched++;
	return bytes_append(out, fetched->bytes.data, fetched->bytes.size);
}

static struct sample random_sample(struct counts_test *test, unsigned int service,
				   unsigned int hour)
{
	struct sample sample = {
		.service = service,
		.host = (unsigned int)below(test, N_HOSTS),
		.hour = hour,
		.pid = 1 + below(test, 3),
		.start_time_ns = NSEC_PER_SEC * (below(test, 3) + (below(test, 2) << 32)),
		.slot = FIRST_SLOT + hour * SLOTS_PER_HOUR + below(test, SLOTS_PER_HOUR),
		.name = (unsigned int)below(test, 2),
		.host_name = (unsigned int)below(test, 2),
	};

	/* Of a PID, so that a process is always with or always without stacks. */
	sample.without_stacks = sample.pid == 3;
	/* Most processes live in one hour only. */
	if (below(test, 4) > 0)
		sample.start_time_ns += (hour + 1) * 1000 * NSEC_PER_SEC;
	return sample;
}

static uint64_t text(struct segment_builder *builder, const char *prefix, unsigned int number)
{
	char name[32];
	uint64_t row;
	int length = snprintf(name, sizeof(name), "%s%u", prefix, number);

	assert_ok(segment_builder_text(builder, name, (size_t)length, &row));
	return row;
}

static uint64_t add(struct segment_builder *builder, enum segment_table table,
		    const uint64_t *values)
{
	uint64_t row;

	assert_ok(segment_builder_add(builder, table, values, &row));
	return row;
}

static void add_sample(struct segment_builder *builder, const struct sample *sample)
{
	uint64_t host = add(builder, SEGMENT_HOST,
			    (uint64_t[]){ text(builder, "agent", sample->host),
					  text(builder, "host", sample->host_name), 0 });
	uint64_t process =
		add(builder, SEGMENT_PROCESS,
		    (uint64_t[]){ host, sample->start_time_ns, sample->pid, 1,
				  text(builder, "name", sample->name), text(builder, "/bin/", 1), 0,
				  sample->without_stacks ? SEGMENT_WITHOUT_STACKS : 0, 0, 0 });
	uint64_t series = 1 + add(builder, SEGMENT_SERIES,
				  (uint64_t[]){ process, sample->pid, text(builder, "thread", 1), 0,
						MODEL_PERIOD_NS, 0 });

	add(builder, SEGMENT_ROW, (uint64_t[]){ series, sample->slot, 0, 1 });
}

/* The tables of rows in memory are not sorted. */
static const struct segment *unsorted(struct counts_test *test,
				      const struct segment_builder *builder)
{
	scoped(segment_snapshot_freep) struct segment_snapshot *snapshot = NULL;
	struct segment *segment = arena_alloc(test->arena, sizeof(*segment));

	assert_non_null(segment);
	assert_ok(segment_snapshot_begin(builder, SEGMENT_SNAPSHOT_ALL, &snapshot));
	assert_int_equal(segment_snapshot_copy(snapshot, builder, SIZE_MAX), 0);
	assert_ok(segment_snapshot_finish(snapshot, test->arena, segment));
	return segment;
}

static const char *head_text(struct counts_test *test, const struct segment *segment,
			     enum segment_column column)
{
	struct bytes_view name = segment_text(segment, segment->column[column][0]);

	return arena_copy_text(test->arena, (const char *)name.data, name.size);
}

/* The view knows the head of such a part without reading it. */
static void add_stored(struct counts_test *test, const struct segment *segment,
		       struct segment_part part)
{
	struct segment_part_head *head = arena_alloc(test->arena, sizeof(*head));
	struct fetched *fetched = arena_alloc(test->arena, sizeof(*fetched));

	assert_true(head && fetched);
	*head = (struct segment_part_head){
		.service = head_text(test, segment, HEAD_SERVICE),
		.event = head_text(test, segment, HEAD_EVENT),
		.unit = head_text(test, segment, HEAD_UNIT),
		.event_kind = EVENT_VALUE_TIME,
		.kind = (enum segment_kind)segment->column[HEAD_KIND][0],
	};
	part.head = head;
	*fetched = (struct fetched){ test, encode(segment, test->arena) };
	part.fetch = fetch;
	part.fetch_arg = fetched;
	part.key = (struct segment_part_key){ .id = test->parts.count, .n_rows = 1 };
	assert_ok(vec_push(&test->parts, part));
}

static void add_rollup(struct counts_test *test, const struct segment *segment,
		       const struct segment_part *of)
{
	scoped(segment_builder_freep) struct segment_builder *builder = NULL;
	struct segment rollup;

	assert_ok(segment_builder_new(&builder));
	assert_ok(segment_builder_add_rollup(builder, segment, SLOTS_PER_HOUR));
	assert_ok(segment_builder_finish(builder, test->arena, &rollup));
	add_stored(test, &rollup, *of);
}

static struct segment_part hour_part(unsigned int hour)
{
	return (struct segment_part){ .first_slot = FIRST_SLOT + hour * SLOTS_PER_HOUR,
				      .end_slot = FIRST_SLOT + (hour + 1) * SLOTS_PER_HOUR };
}

static void add_part(struct counts_test *test, unsigned int service, unsigned int hour,
		     enum form form)
{
	scoped(segment_builder_freep) struct segment_builder *builder = NULL;
	struct segment_part part = hour_part(hour);
	struct segment segment;
	char name[32];

	assert_ok(segment_builder_new(&builder));
	(void)snprintf(name, sizeof(name), "service%u", service);
	builder_add_head(builder, name, EVENT_VALUE_TIME);
	for (size_t i = 0; i < 25; i++) {
		struct sample sample = random_sample(test, service, hour);

		add_sample(builder, &sample);
		assert_ok(vec_push(&test->samples, sample));
	}
	if (form == FORM_MEMORY) {
		part.decoded = unsorted(test, builder);
		assert_ok(vec_push(&test->parts, part));
		return;
	}
	assert_ok(segment_builder_finish(builder, test->arena, &segment));
	if (form == FORM_ROLLED_UP || form == FORM_ROLLUP_ONLY) {
		part.samples_removed = form == FORM_ROLLUP_ONLY;
		add_rollup(test, &segment, &part);
	}
	if (form == FORM_ROLLUP_ONLY)
		return;
	part.samples_removed = false;
	part.in_rollup = form == FORM_ROLLED_UP;
	add_stored(test, &segment, part);
}

struct process_id {
	uint64_t host, pid, start_time_ns;
};

struct expected {
	uint32_t n_processes, n_hosts;
	uint64_t first_slot, last_slot;
};

static bool is_in_range(const struct counts_test *test, const struct sample *sample,
			const uint64_t range[2])
{
	const struct segment_part hour = hour_part(sample->hour);

	/* All samples of a roll-up count if it overlaps the range. */
	if (test->samples_removed[sample->hour])
		return hour.first_slot < range[1] && hour.end_slot > range[0];
	return sample->slot >= range[0] && sample->slot < range[1];
}

static struct expected count_plainly(const struct counts_test *test, unsigned int service,
				     const uint64_t range[2])
{
	struct expected expected = { .first_slot = UINT64_MAX };
	bool hosts[N_HOSTS] = {};
	struct hash_table *processes;

	assert_ok(hash_table_new(sizeof(struct process_id), 0, 0, &processes));
	for (size_t i = 0; i < test->samples.count; i++) {
		const struct sample *sample = &test->samples.items[i];
		const struct process_id id = { sample->host, sample->pid, sample->start_time_ns };

		if (sample->service != service || sample->without_stacks ||
		    !is_in_range(test, sample, range))
			continue;
		assert_ok(hash_table_insert(processes, &id, NULL));
		hosts[sample->host] = true;
		expected.first_slot = MIN(expected.first_slot, sample->slot);
		expected.last_slot = MAX(expected.last_slot, sample->slot);
	}
	expected.n_processes = (uint32_t)hash_table_count(processes);
	for (size_t i = 0; i < N_HOSTS; i++)
		expected.n_hosts += hosts[i];
	(void)hash_table_free(processes);
	return expected;
}

static void assert_service(const struct counts_test *test,
			   const struct store_active_service *services, size_t count,
			   unsigned int number, const uint64_t range[2])
{
	const struct expected expected = count_plainly(test, number, range);
	char name[32];
	size_t i = 0;

	(void)snprintf(name, sizeof(name), "service%u", number);
	while (i < count && strcmp(services[i].name, name) != 0)
		i++;
	assert_int_equal(i<count, expected.n_processes> 0);
	if (i == count)
		return;
	assert_int_equal(services[i].n_processes, expected.n_processes);
	assert_int_equal(services[i].n_hosts, expected.n_hosts);
	assert_true(services[i].first_slot <= expected.first_slot &&
		    services[i].last_slot >= expected.last_slot);
}

static void assert_counts(const struct counts_test *test, struct process_cache *processes,
			  const uint64_t range[2])
{
	const struct store_series_query query = { .from_slot = range[0], .to_slot = range[1] };
	const struct segment_view_options options = { .store = { .tenant = "tenant1" },
						      .max_part_bytes = 64 * MIB,
						      .max_bytes = 64 * MIB,
						      .processes = processes };
	scoped(segment_view_freep) struct segment_view *view = NULL;
	scoped(arena_freep) struct arena *arena = new_arena();
	struct store_active_service *services;
	size_t count;

	assert_ok(segment_view_new(&options, &view));
	for (size_t i = 0; i < test->parts.count; i++)
		assert_ok(segment_view_add(view, &test->parts.items[i]));
	assert_ok(segment_view_active_services(view, &query, arena, &services, &count));
	for (unsigned int i = 0; i < N_SERVICES; i++)
		assert_service(test, services, count, i, range);
}

static void assert_all_counts(struct counts_test *test, struct process_cache *processes)
{
	const uint64_t end = FIRST_SLOT + N_HOURS * SLOTS_PER_HOUR;

	assert_counts(test, NULL, (uint64_t[]){ FIRST_SLOT, end });
	assert_counts(test, processes, (uint64_t[]){ FIRST_SLOT, end });
	for (unsigned int i = 0; i < 12; i++) {
		uint64_t from = FIRST_SLOT + below(test, N_HOURS * SLOTS_PER_HOUR);
		const uint64_t range[2] = { from, from + 1 + below(test, end - from) };

		assert_counts(test, NULL, range);
		assert_counts(test, processes, range);
	}
}

static void make_parts(struct counts_test *test)
{
	for (unsigned int hour = 0; hour < N_HOURS; hour++) {
		const enum form form = (enum form)below(test, FORM_COUNT);

		test->samples_removed[hour] = form == FORM_ROLLUP_ONLY;
		for (unsigned int i = 0; i < N_SERVICES; i++)
			if (below(test, 4) > 0)
				add_part(test, i, hour, form);
		/* More rows of one of the services, in the same hour. */
		if (form == FORM_STORED || form == FORM_MEMORY)
			add_part(test, 0, hour, FORM_MEMORY);
	}
}

static void release(struct counts_test *test)
{
	(void)arena_free(test->arena);
	vec_release(&test->samples);
	vec_release(&test->parts);
}

static void random_processes_are_counted_as_a_plain_loop_counts_them(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		scoped(release) struct counts_test test = { .random = seed };
		scoped(process_cache_freep) struct process_cache *processes = NULL;

		test.arena = new_arena();
		assert_ok(process_cache_new(MIB, &processes));
		make_parts(&test);
		assert_all_counts(&test, processes);
	}
}

static void a_second_list_reads_no_part_within_the_range_again(void **state)
{
	static const uint64_t all[2] = { FIRST_SLOT, FIRST_SLOT + N_HOURS * SLOTS_PER_HOUR };
	static const uint64_t less[2] = { FIRST_SLOT + 1, FIRST_SLOT + N_HOURS * SLOTS_PER_HOUR };
	scoped(release) struct counts_test test = { .arena = new_arena(), .random = 1 };
	scoped(process_cache_freep) struct process_cache *processes = NULL;

	(void)state;
	assert_ok(process_cache_new(MIB, &processes));
	for (unsigned int hour = 0; hour < N_HOURS; hour++)
		for (unsigned int i = 0; i < N_SERVICES; i++)
			add_part(&test, i, hour, hour % 2 ? FORM_STORED : FORM_ROLLED_UP);
	assert_counts(&test, processes, all);
	assert_int_equal(test.n_fetched, N_HOURS * N_SERVICES);
	assert_counts(&test, processes, all);
	assert_int_equal(test.n_fetched, N_HOURS * N_SERVICES);
	/* The first hour has samples outside of the range: they are read, in place of the sums. */
	test.n_fetched = 0;
	assert_counts(&test, processes, less);
	assert_in_range(test.n_fetched, N_SERVICES, 2 * N_SERVICES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_processes_are_counted_as_a_plain_loop_counts_them),
		cmocka_unit_test(a_second_list_reads_no_part_within_the_range_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
