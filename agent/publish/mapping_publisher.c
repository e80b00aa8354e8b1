/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A published set never changes. When the mappings of a process change, the publisher writes a new
 * set, points the entry of the process at it, and then removes the chunks of the old set. A BPF
 * program that reads at the same time finds one of the sets whole, or a chunk missing. In the
 * second case it sends raw pcs.
 */
#include "agent/publish/mapping_publisher.h"

#include "common/log.h"

#define START_TIME_TICK_NS (10 * NSEC_PER_MSEC)

/*
 * Longest time for which a process is not published because its files are being looked up. Most
 * look-ups take a millisecond.
 */
#define LOOK_UP_WAIT_NS (300 * NSEC_PER_MSEC)

static void remove_set(struct mapping_publisher *publisher, uint32_t set, uint32_t n_chunks)
{
	for (uint32_t i = 0; set && i < n_chunks; i++)
		bpf_programs_remove_chunk(publisher->programs,
					  &(struct abi_chunk_key){ .set = set, .index = i });
	if (set && n_chunks > 1)
		bpf_programs_remove_chunk(
			publisher->programs,
			&(struct abi_chunk_key){ .set = set, .index = ABI_DIRECTORY });
}

void mapping_publisher_release(struct mapping_publisher *publisher)
{
	mapping_set_release(&publisher->set);
	vec_release(&publisher->later);
}

void mapping_publisher_mappings_gone(void *arg, struct process_mappings *mappings)
{
	remove_set(arg, mappings->published_set, mappings->n_published_chunks);
}

void mapping_publisher_process_gone(void *arg, const struct process *process)
{
	struct mapping_publisher *publisher = arg;

	if (publisher->jvm_gone)
		publisher->jvm_gone(publisher->jvm_arg, process);
	/*
	 * The BPF program of the exit has removed the entry. A leader that ran on after the last
	 * samples of its threads may have been published again since.
	 */
	if (process->published)
		bpf_programs_remove_process(publisher->programs, process->pid);
}

/* Counts and logs a process once, however often it is published. */
static void note_truncated(struct mapping_publisher *publisher, struct process_mappings *mappings,
			   uint32_t pid)
{
	if (mappings->truncated)
		return;
	mappings->truncated = true;
	publisher->n_truncated++;
	log_warn("process %u has %zu executable mappings, and the BPF maps hold %d of one process: "
		 "frames in the others are found by frame pointers alone",
		 pid, mappings->count, ABI_MAX_MAPPINGS);
}

/* The indexes of the V8 and the CRuby that the process has mapped, for abi_process.flags. */
static uint32_t runtime_flags(const struct process_mappings *mappings)
{
	uint32_t v8 = 0, ruby = 0;

	for (size_t i = 0; i < mappings->count; i++) {
		const struct executable *executable = mappings->items[i].executable;

		if (!executable)
			continue;
		if (executable->interpreter.runtime == INTERPRETER_V8 && v8 == 0)
			v8 = executable->interpreter_index;
		if (executable->interpreter.runtime == INTERPRETER_RUBY && ruby == 0)
			ruby = executable->interpreter_index;
	}
	return v8 << ABI_PROCESS_V8_SHIFT | ruby << ABI_PROCESS_RUBY_SHIFT;
}

static int put_chunks(struct mapping_publisher *publisher, uint32_t set, uint32_t n_chunks)
{
	struct abi_mapping_chunk *chunk = &publisher->chunk;

	/* The BPF programs read no directory where there is one chunk. */
	for (uint32_t i = 0; i < n_chunks + (n_chunks > 1); i++) {
		struct abi_chunk_key key = { .set = set,
					     .index = i < n_chunks ? i : ABI_DIRECTORY };
		int r;

		mapping_set_chunk(&publisher->set, set, key.index, chunk);
		r = bpf_programs_put_chunk(publisher->programs, &key, chunk);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * Replaces the set of @mappings. On failure published_set becomes 0: the process has no set, and
 * its samples have raw pcs.
 */
static int publish_set(struct mapping_publisher *publisher, struct process_mappings *mappings,
		       uint32_t pid)
{
	uint32_t old_set = mappings->published_set;
	uint32_t old_chunks = mappings->n_published_chunks;
	uint32_t set = ++publisher->last_set;
	uint32_t n_chunks;
	int r;

	interpreter_publisher_add(&publisher->interpreters, mappings);
	r = mapping_set_fill(&publisher->set, mappings);
	if (r < 0)
		return r;
	if (r > 0)
		note_truncated(publisher, mappings, pid);
	n_chunks = mapping_set_n_chunks(&publisher->set);
	r = put_chunks(publisher, set, n_chunks);
	if (r < 0)
		remove_set(publisher, set, n_chunks);
	mappings->published_set = r == 0 && n_chunks > 0 ? set : 0;
	mappings->n_published_chunks = mappings->published_set ? n_chunks : 0;
	mappings->changed = r < 0;
	remove_set(publisher, old_set, old_chunks);
	return r;
}

void mapping_publisher_prepare(struct mapping_publisher *publisher, struct process *process)
{
	if (process->mappings && !process->unprofiled)
		process_table_identify_mappings(publisher->processes, process);
}

/*
 * Handles a mapping that the BPF programs saw being replaced, possibly before the agent has read
 * the event of the new mapping. To publish the old mapping again would attribute the new code to
 * the old file. Therefore reads the mappings again from /proc/PID/maps, once for each value of the
 * exec count.
 */
static void forget_replaced_code(struct mapping_publisher *publisher, struct process *process)
{
	struct abi_process entry;

	if (!process->published ||
	    bpf_programs_find_process(publisher->programs, process->pid, &entry) == 0 ||
	    entry.replaced_end == 0)
		return;
	/* /proc/PID/maps has all that happened before the count got this value. */
	process->exec_count = entry.exec_count;
	if (process->was_reread && process->reread_count == entry.exec_count)
		return;
	process_table_reread_mappings(publisher->processes, process);
	process->was_reread = true;
	process->reread_count = entry.exec_count;
}

static int publish(struct mapping_publisher *publisher, struct process *process)
{
	struct process_mappings *mappings;
	struct abi_process entry = {
		.start_time_10ms = process->start_time_ns / START_TIME_TICK_NS,
		/*
		 * If the process has executed another program since, the kernel's count is higher
		 * than this one, and the BPF programs ignore the entry.
		 */
		.exec_count = process->exec_count,
		.flags = process->excluded |
			 (process_wants_cgroups(process) ? ABI_PROCESS_WITH_CGROUPS : 0),
	};
	int r = 0;

	/*
	 * A forked child that was not sampled yet. Its first sample has the start time, and the
	 * process is then published.
	 */
	if (process->start_time_ns == 0) {
		bpf_programs_remove_process(publisher->programs, process->pid);
		process->published = false;
		return 0;
	}

	mappings = process->mappings;
	if (mappings && !process->unprofiled) {
		mapping_publisher_prepare(publisher, process);
		if (!mappings->published_set || mappings->changed)
			r = publish_set(publisher, mappings, process->pid);
		if (r < 0) {
			bpf_programs_remove_process(publisher->programs, process->pid);
			return r;
		}
		entry.set = mappings->published_set;
		entry.n_chunks = mappings->n_published_chunks;
		entry.flags |= runtime_flags(mappings);
	}
	r = bpf_programs_put_process(publisher->programs, process->pid, &entry);
	if (r < 0)
		return r;
	process->published = true;
	return 0;
}

/* A process has at most one JVM. */
static void report_jvm(struct mapping_publisher *publisher, const struct process *process)
{
	for (size_t i = 0; process->mappings && i < process->mappings->count; i++) {
		const struct process_mapping *mapping = &process->mappings->items[i];

		if (!mapping->executable ||
		    mapping->executable->interpreter.runtime != INTERPRETER_HOTSPOT)
			continue;
		publisher->jvm_mapped(publisher->jvm_arg, process, mapping);
		return;
	}
}

/*
 * Whether @process is left to a later run: mapping events of it are parked, or its files are being
 * looked up, after which it would have to be published again. Meanwhile the BPF programs use the
 * mappings that were published before, and record when one of them is replaced.
 */
static bool should_wait(struct mapping_publisher *publisher, struct process *process,
			uint64_t now_ns)
{
	if (process->n_held > 0)
		return true;
	forget_replaced_code(publisher, process);
	if (process_table_identify_mappings(publisher->processes, process))
		return false;
	if (process->publish_by_ns == 0)
		process->publish_by_ns = now_ns + LOOK_UP_WAIT_NS;
	return now_ns < process->publish_by_ns;
}

void mapping_publisher_run(struct mapping_publisher *publisher, uint64_t now_ns)
{
	struct process *process;

	while ((process = process_table_take_wanting(publisher->processes))) {
		int r;

		if (should_wait(publisher, process, now_ns)) {
			if (vec_push(&publisher->later, process) < 0)
				publisher->failures++;
			continue;
		}
		process->publish_by_ns = 0;
		r = publish(publisher, process);
		if (publisher->jvm_mapped && process->published)
			report_jvm(publisher, process);
		if (r == 0)
			continue;
		if (publisher->failures++ == 0)
			log_warn_errno(
				r,
				"cannot write the mappings of process %u into the BPF maps, its "
				"stacks are copied and unwound by the agent, which costs more, "
				"further cases are only counted: %m",
				process->pid);
	}
	for (size_t i = 0; i < publisher->later.count; i++)
		(void)process_table_want_publish(publisher->processes, publisher->later.items[i]);
	vec_clear(&publisher->later);
}
