/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU time of queries over segments of one service with random samples, which are made in memory:
 *
 *   segment_view_bench [--prefix TEXT]
 *
 * Each host has 8 threads that give 20 samples/s together, over 4000 stacks of 12 to 40 frames.
 * Names of figures begin with --prefix (default: segment_view.). A query finds the series, sums
 * their rows in one group, and loads the frames of all stacks of the sum.
 *
 * The list of services is that of a day of 100 hosts with 20 services. In each hour, a service has
 * on each host 2 processes that live all day, and 30 that begin in the hour.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/executable_id.h"
#include "common/scoped.h"
#include "symbolizer/store/segment/segment_builder.h"
#include "symbolizer/store/segment/segment_snapshot.h"
#include "symbolizer/store/segment_view/process_cache.h"
#include "symbolizer/store/segment_view/segment_view.h"

#define SLOTS_PER_S    (NSEC_PER_SEC / SLOT_NS)
#define SLOTS_PER_HOUR (3600 * SLOTS_PER_S)
#define N_THREADS      8
#define SAMPLES_PER_S  20
#define N_STACKS       4000
#define MAX_FRAMES     40
#define MEMORY         (8 * GIB)
#define SNAPSHOT_PIECE MIB
#define FIRST_SLOT     (SLOTS_PER_HOUR * 400000)
#define HOURS_OF_DAY   24
#define N_SERVICES     20
#define N_HOSTS        100
#define N_LONG_LIVED   2
#define N_SHORT_LIVED  30

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

static void check(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "segment_view_bench: %s: %s\n", what, strerror(-r));
	exit(1);
}

/* splitmix64 */
static uint64_t next_random(uint64_t *random)
{
	uint64_t x = *random += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static uint64_t add_text(struct segment_builder *builder, const char *prefix, uint64_t number)
{
	char text[64];
	uint64_t row;
	int length = snprintf(text, sizeof(text), "%s%llu", prefix, (unsigned long long)number);

	check(segment_builder_text(builder, text, (size_t)length, &row), "text");
	return row;
}

static uint64_t add(struct segment_builder *builder, enum segment_table table,
		    const uint64_t *values)
{
	uint64_t row;

	check(segment_builder_add(builder, table, values, &row), "row");
	return row;
}

static void add_head(struct segment_builder *builder, unsigned int service)
{
	(void)add(builder, SEGMENT_HEAD,
		  (uint64_t[]){ SEGMENT_SAMPLES, add_text(builder, "tenant", 1),
				add_text(builder, "service", service),
				add_text(builder, "event", 1), add_text(builder, "ns", 1),
				EVENT_VALUE_TIME });
}

/* The stacks of the service. Each shares its outer half with others. Rows of STACK + 1. */
static void add_stacks(struct segment_builder *builder, uint64_t *stacks)
{
	uint64_t random = 1;

	for (unsigned int i = 0; i < N_STACKS; i++) {
		uint64_t n_frames = 12 + next_random(&random) % (MAX_FRAMES - 12);
		uint64_t family = next_random(&random) % 60, node = 0;

		for (uint64_t k = 0; k < n_frames; k++) {
			uint64_t choice = k < n_frames / 2 ? family : next_random(&random) % 9;
			uint64_t number = k * 100 + choice;
			uint64_t object =
				add(builder, SEGMENT_OBJECT,
				    (uint64_t[]){ EXECUTABLE_ID_GNU,
						  add_text(builder, "build-id", number % 50),
						  add_text(builder, "lib", number % 50), 0, 0 });
			uint64_t frame = add(builder, SEGMENT_FRAME,
					     (uint64_t[]){ 1, object + 1, 0x400000 + number * 64 });

			node = 1 + add(builder, SEGMENT_NODE, (uint64_t[]){ node, frame });
		}
		stacks[i] = 1 + add(builder, SEGMENT_STACK, (uint64_t[]){ node, 0 });
	}
}

/* Row of SERIES + 1. */
static uint64_t add_series(struct segment_builder *builder, uint64_t host, uint64_t thread)
{
	uint64_t host_row = add(builder, SEGMENT_HOST,
				(uint64_t[]){ add_text(builder, "agent", host),
					      add_text(builder, "host", host), 0 });
	uint64_t process =
		add(builder, SEGMENT_PROCESS,
		    (uint64_t[]){ host_row, 1000, 100 + host, 1, add_text(builder, "service", 1),
				  add_text(builder, "/bin/service", 1), 0, 0, 0, 0 });

	return 1 + add(builder, SEGMENT_SERIES,
		       (uint64_t[]){ process, 100 + host + thread,
				     add_text(builder, "thread", thread), 0, 10000000, 0 });
}

static struct segment_builder *build(unsigned int n_hosts, uint64_t from_slot, uint64_t seconds)
{
	struct segment_builder *builder;
	uint64_t stacks[N_STACKS], random = from_slot;

	check(segment_builder_new(&builder), "builder");
	add_head(builder, 1);
	add_stacks(builder, stacks);
	for (unsigned int host = 0; host < n_hosts; host++) {
		uint64_t series[N_THREADS];

		for (unsigned int i = 0; i < N_THREADS; i++)
			series[i] = add_series(builder, host, i);
		for (uint64_t i = 0; i < seconds * SAMPLES_PER_S; i++) {
			/* A few stacks have most samples. */
			uint64_t a = next_random(&random) % N_STACKS;
			uint64_t b = next_random(&random) % (a + 1);
			uint64_t stack = stacks[next_random(&random) % (b + 1)];

			(void)segment_builder_add(
				builder, SEGMENT_ROW,
				(uint64_t[]){ series[next_random(&random) % N_THREADS],
					      from_slot + i * SLOTS_PER_S / SAMPLES_PER_S, stack,
					      1 },
				NULL);
		}
	}
	return builder;
}

struct bench {
	const char *prefix;
	struct segment_codec codec;
	struct arena *arena; /* bytes of the segments */
};

static struct bytes_view encode(struct bench *bench, const struct segment *segment)
{
	scoped(bytes_release) struct bytes bytes = BYTES_INIT(SIZE_MAX);
	uint8_t *copy;

	check(segment_encode(segment, &bench->codec, &bytes), "encode");
	copy = arena_copy(bench->arena, bytes.data, bytes.size);
	check(copy ? 0 : -ENOMEM, "memory");
	return (struct bytes_view){ copy, bytes.size };
}

/* @ret_rollup: bytes of the roll-up; NULL: none is made. */
static struct bytes_view finish(struct bench *bench, struct segment_builder *builder,
				struct bytes_view *ret_rollup)
{
	scoped(segment_builder_freep) struct segment_builder *samples = builder, *sums = NULL;
	scoped(arena_freep) struct arena *arena = NULL;
	struct segment segment, rollup;
	struct bytes_view bytes;

	check(arena_new(MEMORY, &arena), "memory");
	check(segment_builder_finish(samples, arena, &segment), "finish");
	bytes = encode(bench, &segment);
	if (!ret_rollup)
		return bytes;
	check(segment_builder_new(&sums), "roll-up");
	check(segment_builder_add_rollup(sums, &segment, SLOTS_PER_HOUR), "roll-up");
	check(segment_builder_finish(sums, arena, &rollup), "roll-up");
	*ret_rollup = encode(bench, &rollup);
	return bytes;
}

static void figure(const struct bench *bench, const char *name, double value, const char *unit)
{
	printf("%s%s %.3f %s\n", bench->prefix, name, value, unit);
}

struct query {
	struct segment_view *view;
	struct arena *arena;
	uint64_t range[2];
	struct store_sum_series *selected;
	size_t n_series;
};

static void find_series(struct query *query)
{
	const struct store_series_query asked = { .from_slot = query->range[0],
						  .to_slot = query->range[1] };
	struct store_series *series;

	check(segment_view_find_series(query->view, &asked, query->arena, &series,
				       &query->n_series),
	      "series");
	query->selected =
		arena_alloc_array(query->arena, query->n_series, sizeof(*query->selected));
	check(query->selected ? 0 : -ENOMEM, "memory");
	for (size_t i = 0; i < query->n_series; i++)
		query->selected[i] = (struct store_sum_series){ .id = series[i].id,
								.factor = series[i].period_ns };
}

static void load_stacks(struct query *query, const struct store_sums *sums)
{
	for (size_t i = 0; i < sums->count; i++) {
		struct store_stack stack;

		check(segment_view_load_stacks(query->view, &sums->items[i].stack, 1, query->arena,
					       &stack),
		      "stacks");
	}
}

static double ms_since(uint64_t start)
{
	return (double)(now_ns() - start) / 1e6;
}

/* Asks for the sum of all series in the range of the parts. */
static void measure(const struct bench *bench, const char *name, const struct segment_part *parts,
		    size_t n_parts)
{
	const struct segment_view_options options = { .store = { .tenant = "tenant1" },
						      .max_part_bytes = MEMORY,
						      .max_bytes = MEMORY };
	scoped(segment_view_freep) struct segment_view *view = NULL;
	scoped(arena_freep) struct arena *arena = NULL;
	struct query query = { .range = { parts[0].first_slot, parts[n_parts - 1].end_slot } };
	struct store_sum_query sum = {};
	struct store_sums sums;
	uint64_t start = now_ns(), sum_start, range[2];
	char text[64];
	double sum_ms;

	check(arena_new(MEMORY, &arena), "memory");
	check(segment_view_new(&options, &view), "view");
	for (size_t i = 0; i < n_parts; i++)
		check(segment_view_add(view, &parts[i]), "view");
	query.view = view;
	query.arena = arena;
	find_series(&query);
	(void)snprintf(text, sizeof(text), "%s_series_ms", name);
	figure(bench, text, ms_since(start), "ms");
	sum.series = query.selected;
	sum.n_series = query.n_series;
	sum.from_slot = query.range[0];
	sum.to_slot = query.range[1];
	sum_start = now_ns();
	check(segment_view_sum(view, &sum, &sums, range), "sum");
	sum_ms = ms_since(sum_start);
	load_stacks(&query, &sums);
	(void)snprintf(text, sizeof(text), "%s_ms", name);
	figure(bench, text, ms_since(start), "ms");
	(void)snprintf(text, sizeof(text), "%s_rows", name);
	figure(bench, text, (double)sums.n_rows, "rows");
	(void)snprintf(text, sizeof(text), "%s_rows_per_s", name);
	figure(bench, text, (double)sums.n_rows / sum_ms * 1000, "rows/s");
	store_sums_release(&sums);
}

/* The pieces of a copy of the rows of a builder: a thread that adds rows waits for one of them. */
static void measure_snapshot(const struct bench *bench, const struct segment_builder *builder)
{
	scoped(segment_snapshot_freep) struct segment_snapshot *snapshot = NULL;
	scoped(arena_freep) struct arena *arena = NULL;
	uint64_t start = now_ns(), longest = 0, total = 0;
	struct segment segment;
	int r;

	check(arena_new(MEMORY, &arena), "memory");
	check(segment_snapshot_begin(builder, SEGMENT_SNAPSHOT_ALL, &snapshot), "snapshot");
	figure(bench, "snapshot_begin_ms", ms_since(start), "ms");
	do {
		uint64_t piece = now_ns();

		r = segment_snapshot_copy(snapshot, builder, SNAPSHOT_PIECE);
		piece = now_ns() - piece;
		longest = MAX(longest, piece);
		total += piece;
	} while (r > 0);
	check(r, "snapshot");
	figure(bench, "snapshot_mib", (double)segment_snapshot_bytes(snapshot) / (double)MIB,
	       "MiB");
	figure(bench, "snapshot_longest_piece_ms", (double)longest / 1e6, "ms");
	figure(bench, "snapshot_copy_ms", (double)total / 1e6, "ms");
	start = now_ns();
	check(segment_snapshot_finish(snapshot, arena, &segment), "snapshot");
	figure(bench, "snapshot_finish_ms", ms_since(start), "ms");
}

/* The list of services of a head: the copy, and the count of its processes. */
static void measure_head_list(const struct bench *bench, const char *name,
			      const struct segment_builder *builder,
			      enum segment_snapshot_content content, uint32_t n_processes)
{
	const struct segment_view_options options = { .store = { .tenant = "tenant1" },
						      .max_part_bytes = MEMORY,
						      .max_bytes = MEMORY };
	const struct store_series_query asked = { .from_slot = FIRST_SLOT };
	scoped(segment_snapshot_freep) struct segment_snapshot *snapshot = NULL;
	scoped(segment_view_freep) struct segment_view *view = NULL;
	scoped(arena_freep) struct arena *arena = NULL;
	struct segment_part part = { .first_slot = FIRST_SLOT,
				     .end_slot = FIRST_SLOT + SLOTS_PER_HOUR };
	struct store_active_service *services;
	uint64_t start = now_ns();
	struct segment segment;
	size_t count;

	check(arena_new(MEMORY, &arena), "memory");
	check(segment_snapshot_begin(builder, content, &snapshot), "snapshot");
	check(segment_snapshot_copy(snapshot, builder, SIZE_MAX), "snapshot");
	check(segment_snapshot_finish(snapshot, arena, &segment), "snapshot");
	part.decoded = &segment;
	check(segment_view_new(&options, &view), "view");
	check(segment_view_add(view, &part), "view");
	check(segment_view_active_services(view, &asked, arena, &services, &count), "services");
	figure(bench, name, ms_since(start), "ms");
	check(count == 1 && services[0].n_processes == n_processes ? 0 : -EUCLEAN,
	      "the processes of a head");
}

static void measure_quarter(struct bench *bench)
{
	struct segment_builder *builder = build(100, FIRST_SLOT, 900);
	struct segment_part part = { .first_slot = FIRST_SLOT,
				     .end_slot = FIRST_SLOT + 900 * SLOTS_PER_S };

	measure_snapshot(bench, builder);
	measure_head_list(bench, "services_of_head_with_rows_ms", builder, SEGMENT_SNAPSHOT_ALL,
			  100);
	measure_head_list(bench, "services_of_head_ms", builder, SEGMENT_SNAPSHOT_SPANS, 100);
	part.bytes = finish(bench, builder, NULL);
	measure(bench, "15min_100_hosts", &part, 1);
}

static void measure_day(struct bench *bench)
{
	struct segment_part samples[HOURS_OF_DAY], rollups[HOURS_OF_DAY];

	for (unsigned int i = 0; i < HOURS_OF_DAY; i++) {
		const struct segment_part hour = {
			.first_slot = FIRST_SLOT + i * SLOTS_PER_HOUR,
			.end_slot = FIRST_SLOT + (i + 1) * SLOTS_PER_HOUR,
		};
		struct bytes_view rollup;

		samples[i] = hour;
		samples[i].bytes = finish(bench, build(20, hour.first_slot, 3600), &rollup);
		rollups[i] = hour;
		rollups[i].bytes = rollup;
	}
	measure(bench, "day_20_hosts", samples, HOURS_OF_DAY);
	measure(bench, "day_20_hosts_rollup", rollups, HOURS_OF_DAY);
}

/* One sample of a process. Processes of a host have the same times in all services. */
static void add_process_sample(struct segment_builder *builder, uint64_t host, uint64_t pid,
			       uint64_t start_ns, uint64_t slot)
{
	uint64_t host_row = add(builder, SEGMENT_HOST,
				(uint64_t[]){ add_text(builder, "agent", host),
					      add_text(builder, "host", host), 0 });
	uint64_t process =
		add(builder, SEGMENT_PROCESS,
		    (uint64_t[]){ host_row, start_ns, pid, 1, add_text(builder, "service", 1),
				  add_text(builder, "/bin/service", 1), 0, 0, 0, 0 });
	uint64_t series = 1 + add(builder, SEGMENT_SERIES,
				  (uint64_t[]){ process, pid, add_text(builder, "thread", 0), 0,
						10000000, 0 });

	(void)segment_builder_add(builder, SEGMENT_ROW, (uint64_t[]){ series, slot, 0, 1 }, NULL);
}

static struct segment_builder *build_processes(unsigned int service, unsigned int hour,
					       uint64_t from_slot)
{
	const uint64_t hour_ns = 3600 * NSEC_PER_SEC;
	struct segment_builder *builder;

	check(segment_builder_new(&builder), "builder");
	add_head(builder, service);
	for (unsigned int host = 0; host < N_HOSTS; host++) {
		for (unsigned int i = 0; i < N_LONG_LIVED; i++)
			add_process_sample(builder, host, 100 + i, NSEC_PER_SEC, from_slot);
		for (unsigned int i = 0; i < N_SHORT_LIVED; i++)
			add_process_sample(builder, host, 1000 + 7 * i,
					   (hour + 1) * hour_ns + i * hour_ns / N_SHORT_LIVED,
					   from_slot + i * SLOTS_PER_HOUR / N_SHORT_LIVED);
	}
	return builder;
}

/* @processes may be NULL. */
static void measure_services(const struct bench *bench, const char *name,
			     const struct segment_part *parts, size_t n_parts,
			     struct process_cache *processes)
{
	const struct segment_view_options options = { .store = { .tenant = "tenant1" },
						      .max_part_bytes = MEMORY,
						      .max_bytes = MEMORY,
						      .processes = processes };
	const struct store_series_query asked = { .from_slot = FIRST_SLOT };
	scoped(segment_view_freep) struct segment_view *view = NULL;
	scoped(arena_freep) struct arena *arena = NULL;
	struct store_active_service *services;
	uint64_t start = now_ns();
	size_t count;

	check(arena_new(MEMORY, &arena), "memory");
	check(segment_view_new(&options, &view), "view");
	for (size_t i = 0; i < n_parts; i++)
		check(segment_view_add(view, &parts[i]), "view");
	check(segment_view_active_services(view, &asked, arena, &services, &count), "services");
	figure(bench, name, ms_since(start), "ms");
	for (size_t i = 0; i < count; i++)
		if (services[i].n_hosts != N_HOSTS ||
		    services[i].n_processes !=
			    N_HOSTS * (N_LONG_LIVED + HOURS_OF_DAY * N_SHORT_LIVED))
			check(-EUCLEAN, "the counts of a service");
	check(count == N_SERVICES ? 0 : -EUCLEAN, "the number of services");
}

static void measure_day_of_services(struct bench *bench)
{
	static struct segment_part parts[N_SERVICES * HOURS_OF_DAY];
	struct process_cache *processes;

	for (unsigned int i = 0; i < ARRAY_SIZE(parts); i++) {
		const unsigned int hour = i % HOURS_OF_DAY;
		const uint64_t from_slot = FIRST_SLOT + hour * SLOTS_PER_HOUR;
		struct bytes_view rollup;

		(void)finish(bench, build_processes(i / HOURS_OF_DAY, hour, from_slot), &rollup);
		parts[i] = (struct segment_part){ .bytes = rollup,
						  .key = { .id = i + 1, .n_rows = 1 },
						  .first_slot = from_slot,
						  .end_slot = from_slot + SLOTS_PER_HOUR };
	}
	check(process_cache_new(MEMORY, &processes), "memory");
	measure_services(bench, "services_day_100_hosts_ms", parts, ARRAY_SIZE(parts), NULL);
	measure_services(bench, "services_day_100_hosts_first_ms", parts, ARRAY_SIZE(parts),
			 processes);
	measure_services(bench, "services_day_100_hosts_again_ms", parts, ARRAY_SIZE(parts),
			 processes);
	figure(bench, "services_day_100_hosts_cache_mib",
	       (double)process_cache_bytes(processes) / (double)MIB, "MiB");
	(void)process_cache_free(processes);
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "prefix", required_argument, NULL, 'p' }, {} };
	struct bench bench = { .prefix = "segment_view." };
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option != 'p')
			check(-EINVAL, "options");
		bench.prefix = optarg;
	}
	check(arena_new(MEMORY, &bench.arena), "memory");
	measure_quarter(&bench);
	measure_day(&bench);
	measure_day_of_services(&bench);
	segment_codec_release(&bench.codec);
	(void)arena_free(bench.arena);
	return 0;
}
