/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends the batches of many agents to a running server, prints how it kept up, and checks that it
 * stored each sample once.
 *
 *   fleet_bench --server URL --pid PID --data FOLDER --agents N --seconds N
 *               --capture FOLDER:PERCENT... [--syncs FILE] [--prefix NAME]
 *               [--own-executables PERCENT] [--retries PERCENT]
 *
 * The data folder of the server must be new. Exits with 1 if the sums differ.
 */

#include <argp.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/scoped.h"
#include "tests/bench/fleet/disk_peer.h"
#include "tests/bench/fleet/fleet_health.h"
#include "tests/bench/fleet/fleet_run.h"
#include "tests/bench/fleet/fleet_totals.h"
#include "tests/bench/fleet/server_usage.h"

/* Bodies that the peer writes, and for how long. */
#define PEER_BODIES      512
#define PEER_DURATION_NS (5 * NSEC_PER_SEC)

/* The range of the check, around the run. */
#define RANGE_MARGIN_S 7200

struct options {
	struct fleet_options fleet;
	const char *prefix, *syncs, *data;
	pid_t server_pid;
	uint64_t seconds;
};

struct results {
	struct server_usage before, after;
	struct latencies health;
	size_t n_health_failures;
	uint64_t warm_up_ns, measured_ns;
	double answer_p99_ms, accepted_per_s;
};

static void figure(const struct options *options, const char *name, double value, const char *unit)
{
	printf("%s.%s %.*f %s\n", options->prefix, name, value < 100 ? 2 : 0, value, unit);
}

static double per_second(uint64_t count, uint64_t duration_ns)
{
	return (double)count * (double)NSEC_PER_SEC / (double)duration_ns;
}

static int measure(const struct options *options, struct fleet *fleet, struct results *results)
{
	uint64_t began_ns = clock_monotonic_ns(&system_clock);
	struct fleet_health *health;
	int r;

	r = fleet_warm_up(fleet);
	if (r < 0)
		return r;
	results->warm_up_ns = clock_monotonic_ns(&system_clock) - began_ns;
	r = fleet_health_start(options->fleet.server, &health);
	if (r < 0)
		return r;
	began_ns = clock_monotonic_ns(&system_clock);
	r = server_usage_read(options->server_pid, options->syncs, &results->before);
	if (r == 0)
		r = fleet_measure(fleet, options->seconds * NSEC_PER_SEC);
	results->measured_ns = clock_monotonic_ns(&system_clock) - began_ns;
	if (r == 0)
		r = server_usage_read(options->server_pid, options->syncs, &results->after);
	results->n_health_failures = fleet_health_stop(health, &results->health);
	return r;
}

static void print_answers(const struct options *options, struct fleet *fleet,
			  struct results *results)
{
	const struct fleet_counts *counts = &fleet->counts;
	uint64_t measured_ns = options->seconds * NSEC_PER_SEC;

	results->answer_p99_ms = latencies_percentile_ms(&fleet->answers, 99);
	results->accepted_per_s = per_second(counts->n_accepted, measured_ns);
	figure(options, "agents", options->fleet.n_agents, "agents");
	figure(options, "warm_up_s", (double)results->warm_up_ns / NSEC_PER_SEC, "s");
	figure(options, "answer_p50_ms", latencies_percentile_ms(&fleet->answers, 50), "ms");
	figure(options, "answer_p99_ms", results->answer_p99_ms, "ms");
	figure(options, "delivery_p50_ms", latencies_percentile_ms(&fleet->deliveries, 50), "ms");
	figure(options, "delivery_p99_ms", latencies_percentile_ms(&fleet->deliveries, 99), "ms");
	figure(options, "health_p50_ms", latencies_percentile_ms(&results->health, 50), "ms");
	figure(options, "health_p99_ms", latencies_percentile_ms(&results->health, 99), "ms");
	figure(options, "health_failures", (double)results->n_health_failures, "requests");
	figure(options, "offered_batches_per_s",
	       per_second(counts->n_accepted + counts->n_late, measured_ns), "batches/s");
	figure(options, "accepted_batches_per_s", results->accepted_per_s, "batches/s");
	figure(options, "late", (double)counts->n_late, "batches");
	figure(options, "refused", (double)counts->n_refused, "requests");
	figure(options, "unanswered", (double)counts->n_unanswered, "requests");
	figure(options, "supplements", (double)counts->n_supplements, "requests");
	figure(options, "samples_per_s", per_second(counts->n_samples, measured_ns), "samples/s");
	figure(options, "body_bytes_mean",
	       counts->n_accepted ? (double)counts->n_bytes / (double)counts->n_accepted : 0,
	       "bytes");
}

static void print_usage(const struct options *options, const struct results *results)
{
	const struct server_usage *before = &results->before, *after = &results->after;
	double host_ns = (double)results->measured_ns * (double)sysconf(_SC_NPROCESSORS_ONLN);

	figure(options, "fsyncs_per_s",
	       per_second(after->n_syncs - before->n_syncs, results->measured_ns), "/s");
	figure(options, "fsync_busy_pct",
	       100 * (double)(after->sync_ns - before->sync_ns) / (double)results->measured_ns,
	       "% of the time of one thread");
	figure(options, "cpu_pct", 100 * (double)(after->cpu_ns - before->cpu_ns) / host_ns,
	       "% of the host");
	figure(options, "load_cpu_pct",
	       100 * (double)(after->own_cpu_ns - before->own_cpu_ns) / host_ns,
	       "% of the host, used by this benchmark");
	figure(options, "rss_peak_bytes", (double)after->rss_peak_bytes, "bytes");
}

/* The host's sum, rounded up or down, because roundings add up to the rounded total. */
static bool is_sum_of_host(const struct virtual_agent *agent, enum event_type type,
			   const struct hash_table *sums)
{
	unsigned int divisor = event_type_answer_divisor(type);
	uint64_t expected = agent->sums[type];
	char key[FLEET_HOST_SIZE] = "";
	const uint64_t *found;

	memcpy(key, agent->host.name, MIN(sizeof(key), sizeof(agent->host.name)));
	found = hash_table_find(sums, key);
	if (!found)
		return expected == 0;
	return *found == expected / divisor || *found == (expected + divisor - 1) / divisor;
}

/* 1: the sums of @type differ. */
static int check_type(const struct options *options, const struct fleet *fleet,
		      enum event_type type, uint64_t began_s)
{
	scoped(hash_table_freep) struct hash_table *sums = NULL;
	unsigned int divisor = event_type_answer_divisor(type);
	uint64_t expected = 0, total = 0, n_wrong = 0;
	int r;

	for (uint32_t i = 0; i < options->fleet.n_agents; i++)
		expected += fleet->agents[i].sums[type];
	if (expected == 0)
		return 0;
	r = hash_table_new(FLEET_HOST_SIZE, sizeof(uint64_t), 0, &sums);
	if (r == 0)
		r = fleet_totals_fetch(options->fleet.server, type, began_s - RANGE_MARGIN_S,
				       clock_wall_ns(&system_clock) / NSEC_PER_SEC + RANGE_MARGIN_S,
				       sums, &total);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < options->fleet.n_agents; i++) {
		const struct virtual_agent *agent = &fleet->agents[i];

		if (is_sum_of_host(agent, type, sums))
			continue;
		if (n_wrong++ < 5)
			fprintf(stderr, "%s of '%s' differs: %" PRIu64 " were acknowledged\n",
				event_type_name(type), agent->host.name, agent->sums[type]);
	}
	printf("# %s: %" PRIu64 " sent, %" PRIu64 " stored (answers are in units of %u), %" PRIu64
	       " of %u hosts differ\n",
	       event_type_name(type), expected, total, divisor, n_wrong, options->fleet.n_agents);
	return n_wrong > 0 || total != (expected + divisor / 2) / divisor;
}

static int check_totals(const struct options *options, const struct fleet *fleet, uint64_t began_s)
{
	int result = 0;

	for (int type = EVENT_NONE + 1; type < EVENT_TYPE_END; type++) {
		int r = check_type(options, fleet, type, began_s);

		if (r < 0)
			return r;
		result |= r;
	}
	if (result)
		fprintf(stderr, "the server's sums are not those of the acknowledged batches\n");
	return result;
}

static int run_peer(const struct options *options, const struct fleet *fleet,
		    const struct results *results)
{
	struct bytes_view bodies[PEER_BODIES];
	struct latencies latencies = {};
	double per_s;
	size_t n = 0;
	int r;

	for (uint32_t i = 0; i < options->fleet.n_agents && n < PEER_BODIES; i++)
		if (fleet->agents[i].body.size > 0)
			bodies[n++] = bytes_view_of(&fleet->agents[i].body);
	if (n == 0)
		return 0;
	r = disk_peer_run(options->data, bodies, n, PEER_DURATION_NS, &latencies);
	if (r == 0) {
		per_s = per_second(latencies.count, PEER_DURATION_NS);
		figure(options, "peer_fdatasync_batches_per_s", per_s, "batches/s");
		figure(options, "peer_fdatasync_p99_ms", latencies_percentile_ms(&latencies, 99),
		       "ms");
		figure(options, "accepted_ratio", results->accepted_per_s / per_s,
		       "x of one fdatasync per batch");
		figure(options, "answer_p99_ratio",
		       results->answer_p99_ms / latencies_percentile_ms(&latencies, 99), "x");
	}
	vec_release(&latencies);
	return r;
}

static int run(const struct options *options)
{
	uint64_t began_s = clock_wall_ns(&system_clock) / NSEC_PER_SEC;
	scoped(fleet_freep) struct fleet *fleet = NULL;
	struct results results = {};
	int r, differs;

	r = fleet_new(&options->fleet, &fleet);
	if (r == 0)
		r = measure(options, fleet, &results);
	if (r == 0) {
		print_answers(options, fleet, &results);
		print_usage(options, &results);
		(void)fflush(stdout);
		r = fleet_drain(fleet);
	}
	vec_release(&results.health);
	if (r == 0)
		r = run_peer(options, fleet, &results);
	if (r < 0)
		return r;
	differs = check_totals(options, fleet, began_s);
	return differs;
}

enum { OPTION_DATA = 1, OPTION_PREFIX, OPTION_OWN, OPTION_RETRIES, OPTION_SYNCS };

static const struct argp_option argp_options[] = {
	{ "server", 's', "URL", 0, "The server", 0 },
	{ "pid", 'p', "PID", 0, "Its process", 0 },
	{ "data", OPTION_DATA, "FOLDER", 0, "A folder on the server's disk, for the peer", 0 },
	{ "agents", 'n', "N", 0, "Number of agents", 0 },
	{ "seconds", 't', "N", 0, "Time to measure", 0 },
	{ "capture", 'c', "FOLDER:PERCENT", 0, "A capture, and its share of the agents", 0 },
	{ "syncs", OPTION_SYNCS, "FILE", 0, "The file of the library sync_count", 0 },
	{ "prefix", OPTION_PREFIX, "NAME", 0, "The names of figures begin with it", 0 },
	{ "own-executables", OPTION_OWN, "PERCENT", 0, "Executables that only one host has", 0 },
	{ "retries", OPTION_RETRIES, "PERCENT", 0, "Batches sent twice", 0 },
	{},
};

static void add_capture(struct fleet_options *options, char *text, struct argp_state *state)
{
	char *colon = strrchr(text, ':');

	if (!colon || options->n_captures == FLEET_MAX_CAPTURES)
		argp_error(state, "--capture %s: expected FOLDER:PERCENT, at most %d times", text,
			   FLEET_MAX_CAPTURES);
	*colon = '\0';
	options->capture_folders[options->n_captures] = text;
	options->capture_pct[options->n_captures++] = (unsigned int)strtoul(colon + 1, NULL, 10);
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 's':
		options->fleet.server = text;
		return 0;
	case 'p':
		options->server_pid = (pid_t)strtol(text, NULL, 10);
		return 0;
	case OPTION_DATA:
		options->data = text;
		return 0;
	case 'n':
		options->fleet.n_agents = (uint32_t)strtoul(text, NULL, 10);
		return 0;
	case 't':
		options->seconds = strtoul(text, NULL, 10);
		return 0;
	case 'c':
		add_capture(&options->fleet, text, state);
		return 0;
	case OPTION_SYNCS:
		options->syncs = text;
		return 0;
	case OPTION_PREFIX:
		options->prefix = text;
		return 0;
	case OPTION_OWN:
		options->fleet.own_executables_pct = (unsigned int)strtoul(text, NULL, 10);
		return 0;
	case OPTION_RETRIES:
		options->fleet.retry_pct = (unsigned int)strtoul(text, NULL, 10);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = { .options = argp_options, .parser = parse_option };
	struct options options = {
		.prefix = "fleet",
		.data = ".",
		.seconds = 60,
		.fleet = { .own_executables_pct = 20, .retry_pct = 1 },
	};
	int r;

	(void)argp_parse(&argp, argc, argv, 0, NULL, &options);
	if (!options.fleet.server || !options.server_pid || !options.fleet.n_captures ||
	    !options.fleet.n_agents || !options.seconds) {
		fprintf(stderr, "--server, --pid, --agents and --capture are required\n");
		return 2;
	}
	r = run(&options);
	if (r < 0)
		fprintf(stderr, "fleet_bench: %s\n", strerror(-r));
	return r != 0;
}
