// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The BPF helpers, implemented for the host. They do not depend on the architecture, so the
 * programs for x86-64 and for arm64 share them.
 */
#include "bpf/host/host_run.h"

#include <assert.h>
#include <string.h>
#include <time.h>

/*
 * The run of this thread. A helper has no argument for it; in the kernel, the CPU identifies the
 * caller.
 */
static _Thread_local struct host_run *current_run;

void host_run_begin(struct host_run *run)
{
	assert(!current_run);
	current_run = run;
}

struct host_run *host_run_current(void)
{
	return current_run;
}

void host_run_end(void)
{
	current_run = NULL;
}

/*
 * Returns the element of mapping_chunks, or NULL. The return type has no const, because that of
 * bpf_map_lookup_elem() has none; programs do not write to the element. A chunk's `set` is part of
 * the element's key, and 0 while the element is in no bucket. Tests change `set` during a run.
 */
static void *find_mapping_chunk(const struct host_unwind_process *process, const void *key)
{
	const struct abi_mapping_chunk *element;
	struct abi_chunk_key chunk;

	memcpy(&chunk, key, sizeof(chunk));
	if (chunk.index == ABI_DIRECTORY)
		return process->directory && process->directory->set == chunk.set
			       ? (void *)process->directory
			       : NULL;
	if (chunk.index >= process->n_chunks)
		return NULL;
	element = &process->chunks[chunk.index];
	return __atomic_load_n(&element->set, __ATOMIC_ACQUIRE) == chunk.set ? (void *)element
									     : NULL;
}

static struct abi_unwind_slot *find_part(const struct host_unwind_tables *tables, uint32_t part)
{
	return part < tables->n_parts ? tables->parts[part] : NULL;
}

static void *find_table_element(const struct host_unwind_tables *tables, enum host_map map,
				const void *key)
{
	uint32_t number;
	uint64_t region;

	if (!tables)
		return NULL;
	memcpy(&number, key, sizeof(number));
	switch (map) {
	case HOST_MAP_UNWIND_TABLES:
		return (void *)tables->find(tables->argument, number);
	case HOST_MAP_UNWIND_REGIONS:
		memcpy(&region, key, sizeof(region));
		return (void *)tables->find_region(tables->argument, region);
	case HOST_MAP_UNWIND_POOL:
		current_run->part = find_part(tables, number);
		return current_run->part;
	case HOST_MAP_UNWIND_PART:
		return number < UNWIND_SLOTS_PER_PART ? &current_run->part[number] : NULL;
	default:
		return NULL;
	}
}

void *host_map_lookup_elem(enum host_map map, const void *key)
{
	const struct host_unwind_input *input = current_run->input;
	uint32_t number;

	memcpy(&number, key, sizeof(number));
	switch (map) {
	case HOST_MAP_PROCESSES:
		return number == input->process.pid
			       ? (void *)__atomic_load_n(&input->process.entry, __ATOMIC_ACQUIRE)
			       : NULL;
	case HOST_MAP_MAPPING_CHUNKS:
		return find_mapping_chunk(&input->process, key);
	case HOST_MAP_EXEC_COUNTS:
		return number == input->process.pid ? (void *)&input->process.exec_count : NULL;
	case HOST_MAP_INTERPRETERS:
		return number < input->n_interpreters ? (void *)&input->interpreters[number] : NULL;
	case HOST_MAP_JVMS:
		return number == input->process.pid ? (void *)input->jvm : NULL;
	case HOST_MAP_RULE_CACHE:
		return current_run->cached_rule;
	case HOST_MAP_SEEN_STACKS:
		return &current_run->seen_stack;
	case HOST_MAP_COUNTERS:
		return number < ABI_COUNTER_COUNT ? &current_run->output->counters[number] : NULL;
	default:
		return find_table_element(input->tables, map, key);
	}
}

/* A sample calls this helper only for the filter of sent stacks. */
long host_map_update_elem(enum host_map map, const void *key, const void *value, uint64_t flags)
{
	(void)key;
	(void)flags;
	if (map != HOST_MAP_SEEN_STACKS)
		return -1;
	memcpy(&current_run->seen_stack, value, sizeof(current_run->seen_stack));
	return 0;
}

/* Reads memory of the simulated kernel, which the caller set up for this run. */
long host_probe_read(void *destination, uint32_t size, const void *address)
{
	memcpy(destination, address, size);
	return 0;
}

long host_probe_read_user(void *destination, uint32_t size, const void *address)
{
	const struct host_unwind_input *input = current_run->input;

	if (input->read(input->read_argument, (uint64_t)(uintptr_t)address, destination, size) == 0)
		return 0;
	/* Like the kernel, leave no old bytes in the destination. */
	memset(destination, 0, size);
	return -1;
}

long host_loop(uint32_t n_loops, long (*function)(__u64 index, void *argument), void *argument,
	       uint64_t flags)
{
	(void)flags;
	for (uint32_t i = 0; i < n_loops; i++) {
		if (function(i, argument))
			return (long)i + 1;
	}
	return n_loops;
}

long host_ringbuf_output(enum host_map map, const void *data, uint64_t size, uint64_t flags)
{
	struct host_unwind_output *output = current_run->output;

	(void)flags;
	if (map != HOST_MAP_SAMPLES || size > offsetof(struct host_unwind_output, counters))
		return -1;
	memcpy(output, data, size);
	return 0;
}

/* The ring buffer is always empty: host_ringbuf_output() copies the record to the output. */
uint64_t host_ringbuf_query(enum host_map map, uint64_t flags)
{
	(void)map;
	(void)flags;
	return 0;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t host_ktime_get_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t host_ktime_get_boot_ns(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}

uint64_t host_get_current_pid_tgid(void)
{
	const struct host_unwind_process *process = &current_run->input->process;

	return (uint64_t)process->pid << 32 | process->tid;
}

uint32_t host_get_smp_processor_id(void)
{
	return 0;
}

long host_get_current_comm(void *buffer, uint32_t size)
{
	memset(buffer, 0, size);
	return 0;
}

const volatile struct abi_config *host_config(void)
{
	return current_run->input->config;
}

struct abi_control *host_control(void)
{
	return &current_run->control;
}
