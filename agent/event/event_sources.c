/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/event/event_sources.h"

#include "common/log.h"

#define EVENT_SECTION_SOURCE

#define EVENT_SOURCE(name) extern const struct event_source name##_source;
#include "agent/event/sources.def"
#undef EVENT_SOURCE

static const struct event_source *const table[] = {
#define EVENT_SOURCE(name) &name##_source,
#include "agent/event/sources.def"
#undef EVENT_SOURCE
};

#undef EVENT_SECTION_SOURCE

const struct event_source *event_source(enum event_source_id id)
{
	return table[id];
}

void event_sources_configure(struct event_sources *sources, const struct agent_config *config,
			     const struct kernel_layout *kernel, struct abi_config *bpf_config)
{
	for (size_t i = 0; i < EVENT_SOURCE_COUNT; i++) {
		sources->choices[i] = (struct bpf_program_choice){
			.set = table[i]->programs,
			.wanted = table[i]->is_enabled(config),
		};
		if (table[i]->configure)
			table[i]->configure(config, kernel, bpf_config);
	}
}

int event_sources_start(struct event_sources *sources, const struct event_host *host)
{
	sources->host = *host;
	for (size_t i = EVENT_SOURCE_COUNT; i-- > 0;) {
		int r;

		if (!sources->choices[i].wanted)
			continue;
		r = table[i]->start(&sources->host, &sources->started[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Calls @function of each started source that defines this function. */
#define EACH(sources, function, ...)                                                               \
	do {                                                                                       \
		for (size_t i_ = 0; i_ < EVENT_SOURCE_COUNT; i_++)                                 \
			if ((sources)->started[i_] && table[i_]->function)                         \
				table[i_]->function((sources)->started[i_] __VA_OPT__(, )          \
							    __VA_ARGS__);                          \
	} while (0)

void event_sources_stop(struct event_sources *sources)
{
	EACH(sources, stop);
}

void event_sources_free(struct event_sources *sources)
{
	EACH(sources, free);
	for (size_t i = 0; i < EVENT_SOURCE_COUNT; i++)
		sources->started[i] = NULL;
}

int event_sources_run(struct event_sources *sources, uint64_t now_ns)
{
	int r = 0;

	for (size_t i = 0; i < EVENT_SOURCE_COUNT && r == 0; i++)
		if (sources->started[i] && table[i]->run)
			r = table[i]->run(sources->started[i], now_ns);
	return r;
}

int event_sources_before_close(struct event_sources *sources)
{
	int r = 0;

	for (size_t i = 0; i < EVENT_SOURCE_COUNT && r == 0; i++)
		if (sources->started[i] && table[i]->before_close)
			r = table[i]->before_close(sources->started[i]);
	return r;
}

void event_sources_before_counters(struct event_sources *sources)
{
	EACH(sources, before_counters);
}

void event_sources_update_metrics(struct event_sources *sources)
{
	EACH(sources, update_metrics);
}

uint64_t event_sources_bpf_ns(const uint64_t counters[ABI_COUNTER_COUNT])
{
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < EVENT_SOURCE_COUNT; i++)
		sum_ns += table[i]->bpf_ns ? table[i]->bpf_ns(counters) : 0;
	return sum_ns;
}

uint64_t event_sources_bytes_per_thread(const struct event_sources *sources)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < EVENT_SOURCE_COUNT; i++)
		if (sources->started[i] && table[i]->bytes_per_thread)
			sum += table[i]->bytes_per_thread(sources->started[i]);
	return sum;
}

int event_sources_follow_cpus(struct event_sources *sources, uint64_t now_ns)
{
	bool out_of_memory = false;

	for (size_t i = 0; i < EVENT_SOURCE_COUNT; i++)
		if (sources->started[i] && table[i]->cpu.follow)
			out_of_memory |=
				table[i]->cpu.follow(sources->started[i], now_ns) == -ENOMEM;
	return out_of_memory ? -ENOMEM : 0;
}

void event_sources_cpus_unchanged(struct event_sources *sources, uint64_t now_ns)
{
	EACH(sources, cpu.unchanged, now_ns);
}

void event_sources_suspect_cpu(struct event_sources *sources, uint32_t cpu)
{
	EACH(sources, cpu.suspect, cpu);
}

bool event_sources_found_dead_cpu(struct event_sources *sources)
{
	bool found = false;

	for (size_t i = 0; i < EVENT_SOURCE_COUNT; i++)
		if (sources->started[i] && table[i]->cpu.found_dead)
			found |= table[i]->cpu.found_dead(sources->started[i]);
	return found;
}

size_t event_sources_n_cpus(const struct event_sources *sources)
{
	size_t most = 0;

	for (size_t i = 0; i < EVENT_SOURCE_COUNT; i++)
		if (sources->started[i] && table[i]->cpu.count)
			most = MAX(most, table[i]->cpu.count(sources->started[i]));
	return most;
}

void event_sources_set_config(struct event_sources *sources, const struct agent_config *config)
{
	for (size_t i = 0; i < EVENT_SOURCE_COUNT; i++)
		for (const char *const *key = table[i]->restart_keys; key && *key; key++)
			if (agent_config_differs(sources->host.config, config, *key))
				log_warn("the change of %s takes effect after a restart", *key);
	sources->host.config = config;
}
