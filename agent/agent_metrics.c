/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers the metrics of all parts of the agent, once per batch. */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "agent/agent_internal.h"
#include "common/file.h"
#include "common/log.h"

/* Minimum time between two calls of malloc_trim(). */
#define TRIM_EVERY_NS (30 * NSEC_PER_SEC)

/* If the heap has fewer free bytes, malloc_trim() is not worth its CPU time. */
#define TRIM_FROM_BYTES ((size_t)(1 * MIB))

static const struct metric_row agent_metric_rows[] = {
#define AGENT_METRIC(id, metric_name, metric_type, metric_labels, metric_help)                     \
	{ .name = metric_name,                                                                     \
	  .type = METRIC_##metric_type,                                                            \
	  .labels = metric_labels,                                                                 \
	  .help = metric_help },
#include "agent/metrics.def"
};

static_assert(ARRAY_SIZE(agent_metric_rows) == AGENT_METRIC_COUNT, "every metric needs a row");

static void set(struct agent *agent, enum agent_metric metric, uint64_t value)
{
	metric_set(agent->metrics, metric, value);
}

static void copy_kernel_counters(struct agent *agent, const uint64_t values[ABI_COUNTER_COUNT])
{
#define AGENT_METRIC(...)
#define KERNEL_METRIC(id, ...) set(agent, AGENT_METRIC_##id, values[ABI_COUNTER_##id]);
#include "agent/metrics.def"
}

static void gather_absent_pages(struct agent *agent, const uint64_t values[ABI_COUNTER_COUNT])
{
	struct page_toucher_stats touched = {};

	if (agent->toucher)
		page_toucher_stats(agent->toucher, &touched);
	set(agent, AGENT_METRIC_PAGES_TOUCHED, touched.touched);
	set(agent, AGENT_METRIC_PAGES_ABSENT, touched.absent);
	set(agent, AGENT_METRIC_PAGES_GONE, touched.gone);
	set(agent, AGENT_METRIC_PAGES_FAILED, touched.failed);
	set(agent, AGENT_METRIC_PAGES_HUNG, touched.hung);
	set(agent, AGENT_METRIC_PAGES_DROPPED, touched.dropped + values[ABI_COUNTER_TOUCH_LOST]);
}

static void log_first_lost_exec(struct agent *agent, uint64_t n_lost)
{
	if (n_lost > 0 && metric_get(agent->metrics, AGENT_METRIC_EXECS_LOST) == 0)
		log_warn("the BPF map that counts execs is full: after an exec, frames may be "
			 "attributed to the previous program of the process; max_processes is too "
			 "small for this host; further cases are only counted (execs_lost_total)");
}

/* Returns the number of threads of the host: 417 if /proc/loadavg is "0.1 0.1 0.1 2/417 12345". */
static uint64_t count_threads(void)
{
	struct bytes text = BYTES_INIT(4 * KIB);
	uint64_t count = 0;

	if (file_read("/proc/loadavg", &text) == 0 && bytes_append_byte(&text, 0) == 0)
		(void)sscanf((const char *)text.data, "%*f %*f %*f %*u/%" SCNu64, &count);
	bytes_release(&text);
	return count;
}

/* CPU time and memory that the agent uses in the kernel. */
static void gather_kernel_costs(struct agent *agent, const uint64_t counters[ABI_COUNTER_COUNT])
{
	uint64_t bytes_per_thread = event_sources_bytes_per_thread(&agent->sources);

	set(agent, AGENT_METRIC_BPF_NS, event_sources_bpf_ns(counters));
	set(agent, AGENT_METRIC_THREAD_BYTES,
	    bytes_per_thread ? bytes_per_thread * count_threads() : 0);
}

static void gather_kernel_counters(struct agent *agent)
{
	uint64_t values[ABI_COUNTER_COUNT];

	event_sources_before_counters(&agent->sources);
	if (bpf_programs_read_counters(agent->programs, values) < 0)
		return;
	for (size_t i = 0; i < ABI_COUNTER_COUNT; i++)
		values[i] += copy_unwinder_counters(agent->copy_unwinder)[i];
	event_sources_update_metrics(&agent->sources);
	log_first_lost_exec(agent, values[ABI_COUNTER_EXECS_LOST]);
	copy_kernel_counters(agent, values);
	gather_absent_pages(agent, values);
	gather_kernel_costs(agent, values);
}

static void gather_sender(struct agent *agent)
{
	struct sender_stats stats;

	sender_stats(agent->sender, &stats);
	set(agent, AGENT_METRIC_BATCHES_SENT, stats.batches_sent);
	set(agent, AGENT_METRIC_BATCHES_DROPPED, stats.batches_dropped);
	set(agent, AGENT_METRIC_SEND_ERRORS, stats.send_errors);
	set(agent, AGENT_METRIC_SPOOL_BYTES, stats.spool_bytes);
	set(agent, AGENT_METRIC_UPLOADS_DONE, stats.uploads_done);
	set(agent, AGENT_METRIC_UPLOADS_FAILED,
	    stats.uploads_failed + upload_opener_failed(agent->upload_opener));
	set(agent, AGENT_METRIC_UPLOAD_BYTES, stats.upload_bytes);
}

/* Reads a value such as "RssAnon:     1234 kB" of /proc/self/status. */
static uint64_t status_bytes(const char *status, const char *key)
{
	const char *line = strstr(status, key);
	uint64_t kib = 0;

	if (!line || sscanf(line + strlen(key), " %" SCNu64, &kib) != 1)
		return 0;
	return kib * KIB;
}

/*
 * free() returns pages to the system only from the end of the heap, malloc_trim() from all of it.
 */
static void trim_heap(void)
{
	if (mallinfo2().fordblks > TRIM_FROM_BYTES)
		(void)malloc_trim(0);
}

static void gather_memory(struct agent *agent)
{
	uint64_t now_ns = clock_monotonic_ns(agent->clock);

	set(agent, AGENT_METRIC_MAP_BYTES,
	    bpf_programs_memory_bytes(agent->programs) +
		    process_events_memory_bytes(agent->events));
	set(agent, AGENT_METRIC_POOL_BYTES, bpf_programs_unwind_pool_bytes(agent->programs));
	if (agent->trimmed_ns != 0 && now_ns < agent->trimmed_ns + TRIM_EVERY_NS)
		return;
	agent->trimmed_ns = now_ns;
	trim_heap();
}

static void gather_own_costs(struct agent *agent)
{
	struct bytes status = BYTES_INIT(16 * KIB);
	struct nursery_usage helpers;
	struct rusage usage;

	gather_memory(agent);
	nursery_usage(agent->nursery, &helpers);
	set(agent, AGENT_METRIC_HELPERS_CPU_NS, helpers.cpu_ns);
	set(agent, AGENT_METRIC_HELPERS_BYTES, helpers.memory_bytes);
	set(agent, AGENT_METRIC_COMPILERS_CPU_NS, helpers.compilers_cpu_ns);
	set(agent, AGENT_METRIC_COMPILERS_BYTES, helpers.compilers_memory_bytes);
	set(agent, AGENT_METRIC_HELPERS, helpers.n_helpers);
	if (file_read("/proc/self/status", &status) == 0 && bytes_append_byte(&status, 0) == 0) {
		set(agent, AGENT_METRIC_RSS_BYTES,
		    status_bytes((const char *)status.data, "VmRSS:"));
		set(agent, AGENT_METRIC_RSS_ANON_BYTES,
		    status_bytes((const char *)status.data, "RssAnon:"));
	}
	bytes_release(&status);
	set(agent, AGENT_METRIC_MEMORY_BYTES,
	    metric_get(agent->metrics, AGENT_METRIC_RSS_ANON_BYTES) +
		    metric_get(agent->metrics, AGENT_METRIC_MAP_BYTES) +
		    metric_get(agent->metrics, AGENT_METRIC_THREAD_BYTES) +
		    metric_get(agent->metrics, AGENT_METRIC_HELPERS_BYTES));
	if (getrusage(RUSAGE_SELF, &usage) == 0)
		set(agent, AGENT_METRIC_CPU_NS,
		    (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NSEC_PER_SEC +
			    (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) *
				    NSEC_PER_USEC);
}

static void gather_tables(struct agent *agent)
{
	const struct table_maker_stats *stats = &agent->tables.maker->stats;
	const struct paged_rows *rows = &agent->tables.rows;

	set(agent, AGENT_METRIC_TABLES_COMPILED, stats->n_compiled);
	set(agent, AGENT_METRIC_TABLES_CACHED, stats->n_cached);
	set(agent, AGENT_METRIC_TABLES_WITHOUT, agent->tables.n_without);
	set(agent, AGENT_METRIC_TABLES_FAILED, agent->tables.n_failed);
	set(agent, AGENT_METRIC_TABLES_EVICTED, agent->tables.n_evicted);
	set(agent, AGENT_METRIC_TABLE_FILE_BYTES, agent->tables.file_bytes);
	set(agent, AGENT_METRIC_TABLE_ROWS, rows->n_rows);
	set(agent, AGENT_METRIC_TABLE_RULES, rule_pool_count(&rows->rules));
	set(agent, AGENT_METRIC_RULES_REFUSED, rows->rules.n_refused);
	set(agent, AGENT_METRIC_CHUNKS, rows->n_chunks);
	set(agent, AGENT_METRIC_CHUNKS_LOADED, rows->n_loaded);
	set(agent, AGENT_METRIC_CHUNKS_EVICTED, rows->n_evicted - rows->n_churned);
	set(agent, AGENT_METRIC_CHUNKS_CHURNED, rows->n_churned);
	set(agent, AGENT_METRIC_COMPILE_NS, stats->compile_ns);
	set(agent, AGENT_METRIC_TABLE_CACHE_NS, stats->cache_ns);
	set(agent, AGENT_METRIC_TABLES_RETRIED, agent->tables.n_retried);
	set(agent, AGENT_METRIC_TABLES_CRASHED, stats->n_crashed);
	set(agent, AGENT_METRIC_TABLES_TIMED_OUT, stats->n_timed_out);
	set(agent, AGENT_METRIC_TABLES_NO_MEMORY, stats->n_out_of_memory);
	set(agent, AGENT_METRIC_TABLES_UNSOUND, stats->n_unsound);
	set(agent, AGENT_METRIC_TABLES_UNREADABLE, stats->n_unreadable);
	if (agent->tables.maker->cache)
		set(agent, AGENT_METRIC_TABLE_CACHE_BYTES,
		    table_cache_bytes(agent->tables.maker->cache));
}

void agent_update_metrics(struct agent *agent)
{
	struct collector_stats collected;

	gather_kernel_counters(agent);
	gather_sender(agent);
	gather_tables(agent);
	gather_own_costs(agent);
	agent_update_helper_metrics(agent);
	agent_update_pod_metrics(agent);
	collector_stats(agent->collector, &collected);
	set(agent, AGENT_METRIC_SAMPLES, collected.samples);
	set(agent, AGENT_METRIC_ROWS, collected.rows);
	set(agent, AGENT_METRIC_STACKS_LOST, collected.stacks_lost);
	set(agent, AGENT_METRIC_EXECS_MISSED, collected.execs_missed);
	set(agent, AGENT_METRIC_STACKS_DROPPED, collected.stacks_dropped);
	set(agent, AGENT_METRIC_PUBLISH_FAILURES, agent->publisher.failures);
	set(agent, AGENT_METRIC_FILES_EVICTED, executable_cache_files_evicted(agent->executables));
	set(agent, AGENT_METRIC_KERNEL_NAMES_LOST, frame_resolver_names_lost(agent->frames));
	set(agent, AGENT_METRIC_NUMBERS_EVICTED, collected.numbers_evicted);
	set(agent, AGENT_METRIC_MAPPINGS_TRUNCATED, agent->publisher.n_truncated);
	set(agent, AGENT_METRIC_MAPPINGS_DROPPED,
	    process_table_stats(agent->processes)->mappings_dropped);
	set(agent, AGENT_METRIC_PROCESSES, process_table_count(agent->processes));
	set(agent, AGENT_METRIC_EXECUTABLES, executable_cache_count(agent->executables));
	set(agent, AGENT_METRIC_ID_CONFLICTS, executable_cache_id_conflicts(agent->executables));
}

int agent_write_metrics_file(struct agent *agent)
{
	struct bytes text = BYTES_INIT(MIB);
	int r;

	if (agent->config->metrics_file[0] == '\0')
		return 0;
	r = metrics_print("hearth_agent_", agent_metric_rows, agent->metrics, AGENT_METRIC_COUNT,
			  &text);
	if (r == 0)
		r = file_replace(agent->config->metrics_file, text.data, text.size, 0644);
	bytes_release(&text);
	if (r < 0)
		return log_warn_errno(r,
				      "cannot write metrics to '%s', the file stays as it was: %m",
				      agent->config->metrics_file);
	return 0;
}

/* Metrics with the same name differ in their labels, so a batch names a counter NAME{LABELS}. */
static const char *const counter_names[] = {
#define AGENT_METRIC(id, metric_name, metric_type, metric_labels, metric_help)                     \
	metric_name "{" metric_labels "}",
#include "agent/metrics.def"
};

size_t agent_counters_since_last_batch(struct agent *agent, struct window_counter *ret_counters)
{
	size_t count = 0;

	for (size_t i = 0; i < AGENT_METRIC_COUNT; i++) {
		uint64_t value = metric_get(agent->metrics, (unsigned int)i);

		if (agent_metric_rows[i].type != METRIC_COUNTER || value <= agent->sent_counters[i])
			continue;
		ret_counters[count].name = counter_names[i];
		ret_counters[count++].value = value - agent->sent_counters[i];
		agent->sent_counters[i] = value;
	}
	return count;
}
