/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Measures the cost of one native stack of 30 frames in BPF: cache-hot (the same stack again at
 * once) and cold (after writes to other memory that exceeds the caches). For comparison: the
 * kernel's walk along frame pointers of an equally deep stack, which needs no table and does not
 * identify executables. Loads the agent's BPF programs and publishes this process with the agent's
 * code.
 *
 *   unwind_cost        needs root; prints figures
 */

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/publish/mapping_publisher.h"
#include "agent/publish/unwind_publisher.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/scoped.h"
#include "tests/bench/unwind_cost_chain.h"
#include "tests/bench/unwind_cost_record.h"
/* clang-format off */
#include "tests/bench/unwind_cost.skel.h" /* uses struct unwind_cost of unwind_cost_record.h */
/* clang-format on */

/* Memory that is written between two cold runs: more than the part of the last-level cache that one
 * CPU can use. */
#define FLUSH_BYTES (64 * MIB)

#define HOT_ROUNDS 2000
#define HOT_RUNS   20
#define COLD_RUNS  200

struct host {
	struct string_table *strings;
	struct executable_cache *executables;
	struct process_table *processes;
	struct bpf_programs *programs;
	struct unwind_publisher tables;
	struct mapping_publisher publisher;
	struct nursery *nursery;
	struct helper_pool *helpers;
};

/* One of the two walks that are measured. It runs in the innermost function of the call chain of
 * unwind_cost_chain.h. */
struct run {
	const struct bpf_program *program;
	struct unwind_cost *cost;
	struct unwind_publisher *tables;
	struct helper_pool *helpers;
	uint8_t *memory; /* FLUSH_BYTES */
	double hot_us, cold_us;
};

/*
 * Makes the system call directly: libbpf has no frame pointers, so that the walk along them would
 * end there.
 */
static int run_program(const struct bpf_program *program)
{
	union bpf_attr attribute = { .test.prog_fd = (uint32_t)bpf_program__fd(program) };

	return syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attribute, sizeof(attribute)) < 0
		       ? -errno
		       : (int)attribute.test.retval;
}

static void flush_caches(struct run *run)
{
	for (size_t i = 0; i < FLUSH_BYTES; i += 64)
		((volatile uint8_t *)run->memory)[i]++;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a;
	uint64_t right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

/* Returns the median of @n_runs, which excludes runs that an interrupt made longer. */
static int measure_runs(struct run *run, size_t n_runs, uint32_t rounds, bool cold, double *ret_us)
{
	uint64_t ns[COLD_RUNS];

	assert(n_runs <= COLD_RUNS);
	run->cost->rounds = rounds;
	for (size_t i = 0; i < n_runs; i++) {
		int r;

		if (cold)
			flush_caches(run);
		r = run_program(run->program);
		if (r != 0)
			return r;
		ns[i] = run->cost->ns;
	}
	qsort(ns, n_runs, sizeof(*ns), compare_u64);
	*ret_us = (double)ns[n_runs / 2] / 1000 / rounds;
	return 0;
}

/* Waits until the table of the missing rows is compiled, and loads them. 0: none were loaded. */
static int load_missing(struct run *run)
{
	struct pollfd polled = { .fd = helper_pool_fd(run->helpers), .events = POLLIN };
	int r;

	while ((r = unwind_publisher_load(run->tables, run->cost->missing_executable,
					  run->cost->missing_address)) == -EINPROGRESS) {
		helper_pool_run(run->helpers, clock_monotonic_ns(&system_clock));
		(void)poll(&polled, 1, 10);
	}
	return r;
}

/* Loads rows until none is missing, like the agent for a copied stack. */
static int load_rows(struct run *run)
{
	int r;

	run->cost->rounds = 1;
	do {
		run->cost->n_missing = 0;
		r = run_program(run->program);
	} while (r == 0 && run->cost->n_missing > 0 && load_missing(run) > 0);
	return r;
}

static int measure_here(void *arg)
{
	struct run *run = arg;
	int r;

	r = load_rows(run);
	if (r == 0)
		r = measure_runs(run, HOT_RUNS, HOT_ROUNDS, false, &run->hot_us);
	return r == 0 ? measure_runs(run, COLD_RUNS, 1, true, &run->cold_us) : r;
}

static int want_self(void *arg, struct process *process)
{
	struct host *host = arg;

	return process->pid == (uint32_t)getpid()
		       ? process_table_want_publish(host->processes, process)
		       : 0;
}

static int init_tables(struct host *host, uint64_t unwind_bytes)
{
	const struct unwind_publisher_options options = {
		.programs = host->programs,
		.executables = host->executables,
		.helpers = host->helpers,
		.clock = &system_clock,
		.unwind_bytes = unwind_bytes,
		.cache_folder = "",
		.cache_bytes = UINT64_MAX,
	};

	return unwind_publisher_init(&host->tables, &options);
}

/* Writes this process, its mappings and their unwind tables into the maps, as the agent does. */
static int host_init(struct host *host)
{
	static const struct process_rules rules = {};
	const struct bpf_programs_options options = { .ring_bytes = 256 * KIB,
						      .max_processes = 8192,
						      .unwind_bytes = 16 * MIB,
						      .kernel_without = "" };
	const struct helper_pool_options helpers = {
		.nursery = host->nursery,
		.width = { 1, 1, 1, 1 },
	};
	int r;

	r = string_table_new(64 * MIB, &host->strings);
	if (r == 0)
		r = executable_cache_new(100, &host->executables);
	if (r == 0)
		r = process_table_new(host->executables, host->strings, &rules, NULL,
				      &host->processes);
	if (r == 0)
		r = bpf_programs_load(&options, &host->programs);
	if (r == 0)
		r = helper_pool_new(&helpers, &host->helpers);
	if (r == 0)
		r = init_tables(host, options.unwind_bytes);
	if (r < 0)
		return r;
	host->publisher = (struct mapping_publisher){
		.programs = host->programs,
		.processes = host->processes,
	};
	r = process_table_scan(host->processes);
	if (r == 0)
		r = process_table_each(host->processes, want_self, host);
	if (r == 0)
		mapping_publisher_run(&host->publisher, clock_monotonic_ns(&system_clock));
	return r;
}

static void host_release(struct host *host)
{
	process_table_free(host->processes);
	helper_pool_free(host->helpers);
	unwind_publisher_release(&host->tables);
	bpf_programs_free(host->programs);
	executable_cache_free(host->executables);
	string_table_free(host->strings);
	nursery_free(host->nursery);
}

/* Loads the measuring programs with the agent's maps. */
static int load(const struct host *host, struct unwind_cost_bpf **ret_skeleton)
{
	struct unwind_cost_bpf *skeleton = unwind_cost_bpf__open();
	struct bpf_map *map;
	int r = 0;

	if (!skeleton)
		return -errno;
	bpf_object__for_each_map(map, skeleton->obj)
	{
		int fd = bpf_programs_map_fd(host->programs, bpf_map__name(map));

		if (fd >= 0 && r == 0)
			r = bpf_map__reuse_fd(map, fd);
	}
	if (r == 0)
		r = unwind_cost_bpf__load(skeleton);
	if (r < 0) {
		unwind_cost_bpf__destroy(skeleton);
		return r;
	}
	*ret_skeleton = skeleton;
	return 0;
}

static void print(const struct run *run, const char *prefix, unsigned int n_frames)
{
	printf("%shot_us %.2f us\n", prefix, run->hot_us);
	printf("%scold_us %.2f us\n", prefix, run->cold_us);
	printf("%sframes %u frames\n", prefix, n_frames);
}

static int measure(struct host *host, uint8_t *memory)
{
	struct unwind_cost_bpf *skeleton;
	struct run ours, walk;
	struct unwind_cost *cost;
	unsigned int n_frames;
	int r;

	r = load(host, &skeleton);
	if (r < 0)
		return r;
	cost = &skeleton->bss->cost;
	ours = (struct run){ .program = skeleton->progs.measure_unwind,
			     .cost = cost,
			     .tables = &host->tables,
			     .helpers = host->helpers,
			     .memory = memory };
	walk = (struct run){ .program = skeleton->progs.measure_fp_walk,
			     .cost = cost,
			     .tables = &host->tables,
			     .helpers = host->helpers,
			     .memory = memory };
	r = chain_without_frame_pointers(measure_here, &ours);
	n_frames = cost->n_frames;
	if (r == 0 && cost->cut != 0) {
		log_error("the stack was cut for reason %u after %u frames", cost->cut, n_frames);
		r = -EIO;
	}
	if (r == 0)
		r = chain_with_frame_pointers(measure_here, &walk);
	if (r == 0) {
		print(&ours, "unwind.", n_frames);
		print(&walk, "unwind.peer_fp_walk_", (unsigned int)(cost->fp_walk_bytes / 8));
		printf("unwind.hot_to_fp_walk_ratio %.2f x\n", ours.hot_us / walk.hot_us);
	}
	unwind_cost_bpf__destroy(skeleton);
	return r;
}

int main(int argc, char **argv)
{
	uint8_t *memory = calloc(1, FLUSH_BYTES);
	struct host host = {};
	int r = -ENOMEM;

	if (memory) {
		r = nursery_start(argc, argv, &host.nursery);
		if (r == 0)
			r = host_init(&host);
		if (r == 0)
			r = measure(&host, memory);
	}
	if (r != 0)
		(void)log_error_errno(r < 0 ? r : -EIO, "cannot measure the unwinder: %m");
	host_release(&host);
	free(memory);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
