/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* All event sources of the agent (agent/event/event_source.h). Used by the main thread. */

#include "agent/event/event_source.h"

enum event_source_id {
#define EVENT_SOURCE(name) EVENT_SOURCE_ID_##name,
#define EVENT_SECTION_SOURCE
#include "agent/event/sources.def"
#undef EVENT_SECTION_SOURCE
#undef EVENT_SOURCE
	EVENT_SOURCE_COUNT,
};

/* The functions and properties of the source @id. */
const struct event_source *event_source(enum event_source_id id);

struct event_sources {
	struct event_host host;
	void *started[EVENT_SOURCE_COUNT]; /* NULL: disabled, or not started */
	struct bpf_program_choice choices[EVENT_SOURCE_COUNT];
};

/*
 * Stores in sources->choices which BPF programs @config requires, and sets the constants of the
 * sources' BPF programs in @bpf_config.
 */
void event_sources_configure(struct event_sources *sources, const struct agent_config *config,
			     const struct kernel_layout *kernel, struct abi_config *bpf_config);

/*
 * Starts the enabled sources. @host is copied. The caller has loaded host->programs with
 * sources->choices. Logs failures.
 */
int event_sources_start(struct event_sources *sources, const struct event_host *host);
void event_sources_stop(struct event_sources *sources);
void event_sources_free(struct event_sources *sources);

/*
 * Each calls the function of the same name in struct event_source for all started sources.
 * event_sources_run() and event_sources_before_close() stop at the first error and return it.
 * event_sources_bpf_ns() sums over all sources, started or not.
 */
int event_sources_run(struct event_sources *sources, uint64_t now_ns);
int event_sources_before_close(struct event_sources *sources);
void event_sources_before_counters(struct event_sources *sources);
void event_sources_update_metrics(struct event_sources *sources);
uint64_t event_sources_bpf_ns(const uint64_t counters[ABI_COUNTER_COUNT]);
uint64_t event_sources_bytes_per_thread(const struct event_sources *sources);

/*
 * Each calls the function of struct event_source.cpu for all started sources.
 * event_sources_follow_cpus() returns 0 or -ENOMEM; the sources log their other failures.
 * event_sources_n_cpus() returns the largest count.
 */
int event_sources_follow_cpus(struct event_sources *sources, uint64_t now_ns);
void event_sources_cpus_unchanged(struct event_sources *sources, uint64_t now_ns);
void event_sources_suspect_cpu(struct event_sources *sources, uint32_t cpu);
bool event_sources_found_dead_cpu(struct event_sources *sources);
size_t event_sources_n_cpus(const struct event_sources *sources);

/* Makes the sources use @config from now on. Logs the changed keys that need a restart. */
void event_sources_set_config(struct event_sources *sources, const struct agent_config *config);
