/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes replayed batches to a sample store, and prints how fast and how large it is.
 *
 *   store_bench --data FOLDER --capture FOLDER --hosts N --minutes N [--first-host N]
 *               [--threads N] [--max-seconds N] [--prefix NAME] [--measure] [--peer FILE]
 *               [--store sqlite|segments]
 *
 * Without --measure it fills the store, for the minutes before the last full hour, and prints
 * "filled FROM TO SAMPLES": the unix seconds that the batches cover, and the number of samples.
 * With --peer it also writes them to FILE, a table for the peer of queries.
 * With --measure it runs on one core, prints figures whose names begin with NAME, and writes the
 * same batches to the peer.
 */

#include <argp.h>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "common/clock.h"
#include "symbolizer/ingest/batch_decoder.h"
#include "symbolizer/ingest/batch_payload.h"
#include "symbolizer/store/segment_store/segment_store.h"
#include "symbolizer/store/sqlite/sqlite_store.h"
#include "tests/bench/fleet/store_fill.h"
#include "tests/bench/fleet/store_peer.h"

struct options {
	const char *data, *capture, *prefix, *peer, *store;
	uint32_t n_hosts, first_host;
	uint64_t minutes, max_seconds;
	unsigned int n_threads;
	bool measures;
};

static void figure(const struct options *options, const char *name, double value, const char *unit)
{
	printf("%s%s %.*f %s\n", options->prefix, name, value < 100 ? 2 : 0, value, unit);
}

static int run_on_one_core(void)
{
	cpu_set_t all, one;

	if (sched_getaffinity(0, sizeof(all), &all) < 0)
		return -errno;
	CPU_ZERO(&one);
	for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--)
		if (CPU_ISSET(cpu, &all)) {
			CPU_SET(cpu, &one);
			break;
		}
	return sched_setaffinity(0, sizeof(one), &one) < 0 ? -errno : 0;
}

/*
 * Day files hold rows, all other files definitions. Those of segments hold the definitions of their
 * rows too.
 */
static int measure_files(const char *folder, uint64_t *ret_definitions, uint64_t *ret_rows)
{
	uint64_t definitions = 0, rows = 0;
	DIR *stream = opendir(folder);
	const struct dirent *entry;

	if (!stream)
		return -errno;
	while ((entry = readdir(stream))) {
		struct stat status;

		if (fstatat(dirfd(stream), entry->d_name, &status, 0) < 0 ||
		    !S_ISREG(status.st_mode))
			continue;
		if (strncmp(entry->d_name, "samples-", 8) == 0 ||
		    strncmp(entry->d_name, "segments-", 9) == 0)
			rows += (uint64_t)status.st_size;
		else
			definitions += (uint64_t)status.st_size;
	}
	(void)closedir(stream);
	*ret_definitions = definitions;
	*ret_rows = rows;
	return 0;
}

static int write_to_peer(void *arg, const struct bytes *bodies, size_t count)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		scoped(arena_freep) struct arena *arena = NULL;
		char reason[DECODE_MESSAGE_SIZE];
		struct batch batch;

		r = arena_new(BATCH_MAX_DECODED_BYTES, &arena);
		if (r == 0)
			r = batch_decode(bytes_view_of(&bodies[i]), arena, &batch, reason);
		if (r == 0)
			r = store_peer_write(arg, (uint32_t)i, &batch);
	}
	return r;
}

static double per_s(uint64_t count, uint64_t duration_ns)
{
	return duration_ns ? (double)count * (double)NSEC_PER_SEC / (double)duration_ns : 0;
}

static int print_figures(const struct options *options, const struct store_fill_result *result,
			 const struct store_peer_usage *peer)
{
	const struct store_fill_cost *all = &result->all, *steady = &result->steady;
	double n_samples = (double)all->n_samples;
	double samples_per_row = n_samples / (double)MAX(all->n_rows, UINT64_C(1));
	uint64_t definitions, rows;
	double ours, theirs;
	int r;

	r = measure_files(options->data, &definitions, &rows);
	if (r < 0)
		return r;
	ours = per_s(all->n_samples, all->wall_ns);
	theirs = per_s(peer->n_rows, peer->wall_ns) * samples_per_row;
	figure(options, "hosts", options->n_hosts, "hosts");
	figure(options, "minutes", (double)result->covered_ns / (60 * NSEC_PER_SEC),
	       "minutes of batches");
	figure(options, "samples", n_samples, "samples");
	figure(options, "samples_per_batch", n_samples / (double)all->n_batches, "samples");
	figure(options, "ingest_per_s", ours, "samples/s, decoded and stored on one core");
	figure(options, "ingest_batches_per_s", per_s(all->n_batches, all->wall_ns), "batches/s");
	figure(options, "ingest_cpu_per_s", per_s(all->n_samples, all->cpu_ns),
	       "samples/s of CPU time");
	figure(options, "steady_per_s", per_s(steady->n_samples, steady->wall_ns),
	       "samples/s, most definitions known");
	figure(options, "steady_cpu_per_s", per_s(steady->n_samples, steady->cpu_ns),
	       "samples/s of CPU time, most definitions known");
	figure(options, "decode_per_s", per_s(all->n_samples, all->decode_ns),
	       "samples/s of CPU time, decoding alone");
	figure(options, "peer_table_per_s", theirs, "samples/s, rows without definitions");
	figure(options, "ingest_ratio", ours / theirs, "x");
	figure(options, "bytes", (double)(definitions + rows) / n_samples, "bytes/sample");
	figure(options, "definition_bytes", (double)definitions / n_samples, "bytes/sample");
	figure(options, "row_bytes", (double)rows / n_samples, "bytes/sample");
	figure(options, "peer_table_bytes", (double)peer->file_bytes / n_samples, "bytes/sample");
	figure(options, "row_bytes_ratio", (double)rows / (double)peer->file_bytes, "x");
	return 0;
}

static uint64_t from_wall_ns(const struct options *options)
{
	const uint64_t hour_ns = 3600 * NSEC_PER_SEC;

	return clock_wall_ns(&system_clock) / hour_ns * hour_ns -
	       options->minutes * 60 * NSEC_PER_SEC;
}

static int open_store(const struct options *options, struct store **ret_store)
{
	const struct segment_store_options segments = {
		.folder = options->data,
		.clock = &system_clock,
		.decoder = { .decode = batch_payload_decode,
			     .extract_definitions = batch_payload_definitions,
			     .decode_definitions = batch_payload_decode_definitions },
	};

	return strcmp(options->store, "segments") == 0
		       ? segment_store_open(&segments, ret_store)
		       : sqlite_store_open(options->data, &system_clock, ret_store);
}

/* Writes what is in memory, and merges segments, as the server does within minutes. */
static int settle(const struct options *options, struct store *store)
{
	uint64_t began_ns = clock_monotonic_ns(&system_clock);
	int r;

	if (strcmp(options->store, "segments") != 0)
		return 0;
	r = segment_store_settle(store);
	if (options->measures)
		figure(options, "settle_s",
		       (double)(clock_monotonic_ns(&system_clock) - began_ns) / NSEC_PER_SEC,
		       "s, the last flush and merges");
	return r;
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * NSEC_PER_SEC + (uint64_t)time.tv_nsec;
}

struct list_cost {
	uint64_t wall_ns, cpu_ns;
};

static int list_services(const struct options *options, struct store *store,
			 struct list_cost *ret_cost)
{
	const struct store_view_options view_options = { .tenant = "default" };
	const struct store_series_query query = { .from_slot = from_wall_ns(options) / SLOT_NS };
	const uint64_t began_ns = clock_monotonic_ns(&system_clock), began_cpu_ns = thread_cpu_ns();
	scoped(store_view_closep) struct store_view *view = NULL;
	scoped(arena_freep) struct arena *arena = NULL;
	struct store_active_service *services;
	size_t count;
	int r = arena_new(GIB, &arena);

	if (r == 0)
		r = store_view_open(store, &view_options, &view);
	if (r == 0)
		r = store_active_services(view, &query, arena, &services, &count);
	if (r == 0 && count == 0)
		r = -ENODATA;
	ret_cost->wall_ns = clock_monotonic_ns(&system_clock) - began_ns;
	ret_cost->cpu_ns = thread_cpu_ns() - began_cpu_ns;
	return r;
}

/* Lists the services of all hosts in the whole time, as the web page does when it is opened. */
static int measure_list(const struct options *options, struct store *store, const char *name)
{
	static const char *const whens[] = { "first", "again" };

	for (size_t i = 0; i < ARRAY_SIZE(whens); i++) {
		struct list_cost cost;
		char text[64];
		int r = list_services(options, store, &cost);

		if (r < 0)
			return r;
		(void)snprintf(text, sizeof(text), "%s_%s_ms", name, whens[i]);
		figure(options, text, (double)cost.wall_ns / NSEC_PER_MSEC, "ms, list of services");
		(void)snprintf(text, sizeof(text), "%s_%s_cpu_ms", name, whens[i]);
		figure(options, text, (double)cost.cpu_ns / NSEC_PER_MSEC,
		       "ms of CPU time, list of services");
	}
	return 0;
}

static int fill(const struct options *options, const struct capture *capture,
		struct store_peer *peer, struct store_fill_result *ret_result)
{
	const struct store_fill_options fill = {
		.capture = capture,
		.first_host = options->first_host,
		.n_hosts = options->n_hosts,
		.from_wall_ns = from_wall_ns(options),
		.duration_ns = options->minutes * 60 * NSEC_PER_SEC,
		.n_threads = options->n_threads,
		.own_executables_pct = 20,
		.max_wall_ns = options->max_seconds * NSEC_PER_SEC,
	};
	scoped(store_freep) struct store *store = NULL;
	int r;

	r = open_store(options, &store);
	if (r < 0)
		return r;
	r = store_fill(store, &fill, peer ? write_to_peer : NULL, peer, ret_result);
	if (r == 0 && options->measures && strcmp(options->store, "segments") == 0)
		r = measure_list(options, store, "list_with_memory_rows");
	if (r == 0)
		r = settle(options, store);
	if (r == 0 && options->measures)
		r = measure_list(options, store, "list");
	return r;
}

static int fill_only(const struct options *options, const struct capture *capture)
{
	uint64_t from_ns = from_wall_ns(options);
	struct store_peer_usage usage;
	struct store_fill_result result;
	struct store_peer *peer = NULL;
	int r = 0;

	if (options->peer)
		r = store_peer_open(options->peer, true, &peer);
	if (r == 0)
		r = fill(options, capture, peer, &result);
	if (peer)
		(void)store_peer_close(peer, &usage);
	if (r == 0)
		printf("filled %llu %llu %llu\n", (unsigned long long)(from_ns / NSEC_PER_SEC),
		       (unsigned long long)((from_ns + result.covered_ns) / NSEC_PER_SEC),
		       (unsigned long long)result.all.n_samples);
	return r;
}

static int run(const struct options *options)
{
	scoped(capture_freep) struct capture *capture = NULL;
	struct store_peer_usage peer_usage = {};
	struct store_fill_result result = {};
	char message[CAPTURE_MESSAGE_SIZE];
	struct store_peer *peer = NULL;
	char path[512];
	int r;

	r = capture_open(options->capture, &capture, message);
	if (r < 0) {
		fprintf(stderr, "cannot read a capture: %s\n", message);
		return r;
	}
	if (!options->measures)
		return fill_only(options, capture);
	(void)snprintf(path, sizeof(path), "%s.peer", options->data);
	r = run_on_one_core();
	if (r == 0)
		r = store_peer_open(path, false, &peer);
	if (r < 0)
		return r;
	r = fill(options, capture, peer, &result);
	(void)store_peer_close(peer, &peer_usage);
	return r < 0 ? r : print_figures(options, &result, &peer_usage);
}

enum {
	OPTION_FIRST_HOST = 1,
	OPTION_MAX,
	OPTION_PREFIX,
	OPTION_MEASURE,
	OPTION_PEER,
	OPTION_STORE
};

static const struct argp_option argp_options[] = {
	{ "data", 'd', "FOLDER", 0, "The store, a folder that exists", 0 },
	{ "capture", 'c', "FOLDER", 0, "The batches to replay", 0 },
	{ "hosts", 'n', "N", 0, "Number of hosts", 0 },
	{ "first-host", OPTION_FIRST_HOST, "N", 0, "Number of the first host", 0 },
	{ "minutes", 'm', "N", 0, "Time that the batches cover", 0 },
	{ "max-seconds", OPTION_MAX, "N", 0, "Stop writing after this time", 0 },
	{ "threads", 't', "N", 0, "Threads that write", 0 },
	{ "prefix", OPTION_PREFIX, "NAME", 0, "The names of figures begin with it", 0 },
	{ "peer", OPTION_PEER, "FILE", 0, "A table for the peer of queries", 0 },
	{ "store", OPTION_STORE, "NAME", 0, "The engine: sqlite or segments", 0 },
	{ "measure", OPTION_MEASURE, NULL, 0, "Run on one core and print figures", 0 },
	{},
};

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'd':
		options->data = text;
		return 0;
	case OPTION_STORE:
		options->store = text;
		return 0;
	case 'c':
		options->capture = text;
		return 0;
	case 'n':
		options->n_hosts = (uint32_t)strtoul(text, NULL, 10);
		return 0;
	case OPTION_FIRST_HOST:
		options->first_host = (uint32_t)strtoul(text, NULL, 10);
		return 0;
	case 'm':
		options->minutes = strtoul(text, NULL, 10);
		return 0;
	case OPTION_MAX:
		options->max_seconds = strtoul(text, NULL, 10);
		return 0;
	case 't':
		options->n_threads = (unsigned int)strtoul(text, NULL, 10);
		return 0;
	case OPTION_PREFIX:
		options->prefix = text;
		return 0;
	case OPTION_PEER:
		options->peer = text;
		return 0;
	case OPTION_MEASURE:
		options->measures = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = { .options = argp_options, .parser = parse_option };
	struct options options = {
		.prefix = "store.", .store = "sqlite", .n_hosts = 10, .minutes = 30, .n_threads = 4
	};
	int r;

	(void)argp_parse(&argp, argc, argv, 0, NULL, &options);
	if (!options.data || !options.capture || !options.n_hosts || !options.minutes) {
		fprintf(stderr, "--data, --capture, --hosts and --minutes are required\n");
		return 2;
	}
	r = run(&options);
	if (r < 0)
		fprintf(stderr, "store_bench: %s\n", strerror(-r));
	return r != 0;
}
