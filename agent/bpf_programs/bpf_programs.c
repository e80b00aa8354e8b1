/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wraps the generated skeleton. Only this folder uses libbpf.
 */
#include "agent/bpf_programs/bpf_programs.h"

#include <assert.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "agent/bpf_programs/load_error.h"
#include "agent/bpf_programs/map_memory.h"
#include "agent/bpf_programs/program_links.h"
#include "agent/bpf_programs/record_ring.h"
#include "agent/bpf_programs/skeleton_load.h"
#include "agent/bpf_programs/unwind_maps.h"
#include "bpf/hearth.skel.h"
#include "common/log.h"

struct bpf_programs {
	struct kernel_features features;
	struct hearth_bpf *skeleton;
	const struct bpf_program_choice *choices;
	size_t n_choices;
	struct program_link_vec links;
	struct unwind_parts unwind_parts;
	struct map_memory map_memory;
	struct record_ring *samples;
	struct record_ring *absent_pages;
	int ring_fd; /* an epoll descriptor that watches both ring buffers */
	size_t n_possible_cpus;
	/*
	 * [ABI_COUNTER_COUNT][n_possible_cpus]: the counters at the last
	 * bpf_programs_read_counters()
	 */
	uint64_t *per_cpu;
	const struct bpf_record_functions *functions; /* of bpf_programs_read_samples() */
	bpf_absent_page_function absent_page;
	void *absent_page_arg;
};

/*
 * Logs libbpf's messages at debug level only, because the agent logs one line for each failure
 * itself. The verifier's log is one message of many lines; each becomes one line of our log.
 */
__attribute__((format(printf, 2, 0))) static int
forward_libbpf_message(enum libbpf_print_level level, const char *format, va_list arguments)
{
	scoped_free char *text = NULL;
	char *rest;

	(void)level;
	if (!log_enabled(LOG_LEVEL_DEBUG) || vasprintf(&text, format, arguments) < 0)
		return 0;
	rest = text;
	for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n"))
		if (*line)
			log_debug("libbpf: %s", line);
	return 0;
}

static int on_ring_record(void *arg, void *record, size_t size)
{
	struct bpf_programs *programs = arg;
	const struct abi_sample *sample = record;
	size_t n_frames;

	if (size < sizeof(*sample))
		return 0;
	if (sample->flags & ABI_SAMPLE_COPIED) {
		const struct abi_stack_copy *copy = record;

		return size >= sizeof(*copy) && copy->stack_bytes <= size - sizeof(*copy)
			       ? programs->functions->stack_copy(programs->functions->arg, copy)
			       : 0;
	}
	n_frames = (size_t)sample->n_kernel_frames + sample->n_user_frames;
	if (sample->flags & ABI_SAMPLE_WITH_WAIT &&
	    size < sizeof(*sample) + sizeof(struct abi_wait))
		return 0;
	if (sample->flags & ABI_SAMPLE_FULL &&
	    size < sizeof(*sample) + n_frames * sizeof(struct abi_frame))
		return 0;
	return programs->functions->sample(programs->functions->arg, sample,
					   (const struct abi_frame *)(sample + 1));
}

static int on_absent_page(void *arg, void *record, size_t size)
{
	struct bpf_programs *programs = arg;
	const struct abi_absent_page *page = record;

	if (size >= sizeof(*page) && programs->absent_page)
		programs->absent_page(programs->absent_page_arg, page->pid, page->address);
	return 0;
}

static int open_ring(struct bpf_programs *programs, const struct bpf_map *map,
		     record_function function, struct record_ring **ret_ring)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = bpf_map__fd(map) };

	if (epoll_ctl(programs->ring_fd, EPOLL_CTL_ADD, bpf_map__fd(map), &event) < 0)
		return -errno;
	return record_ring_new(bpf_map__fd(map), bpf_map__max_entries(map), function, programs,
			       ret_ring);
}

static int open_rings(struct bpf_programs *programs)
{
	const struct hearth_bpf *skeleton = programs->skeleton;
	int r;

	programs->ring_fd = epoll_create1(EPOLL_CLOEXEC);
	if (programs->ring_fd < 0)
		return -errno;
	r = open_ring(programs, skeleton->maps.samples, on_ring_record, &programs->samples);
	if (r < 0)
		return r;
	return open_ring(programs, skeleton->maps.absent_pages, on_absent_page,
			 &programs->absent_pages);
}

static int set_tail_calls(const struct bpf_programs *programs)
{
	for (size_t i = 0; i < programs->n_choices; i++) {
		int r = bpf_program_choice_set_tail_calls(&programs->choices[i],
							  programs->skeleton);

		if (r < 0)
			return r;
	}
	return 0;
}

const struct kernel_features *bpf_programs_features(const struct bpf_programs *programs)
{
	return &programs->features;
}

int bpf_programs_load(const struct bpf_programs_options *options,
		      struct bpf_programs **ret_programs)
{
	scoped(bpf_programs_freep) struct bpf_programs *programs = calloc(1, sizeof(*programs));
	int r;

	if (!programs)
		return log_error_errno(ENOMEM, "cannot load the BPF programs: %m");
	programs->ring_fd = -1;
	programs->choices = options->choices;
	programs->n_choices = options->n_choices;
	programs->map_memory.choices = options->choices;
	programs->map_memory.n_choices = options->n_choices;
	libbpf_set_print(forward_libbpf_message);
	r = skeleton_load(options, &programs->features, &programs->skeleton);
	if (r < 0)
		return r;
	r = set_tail_calls(programs);
	if (r < 0)
		return log_error_errno(r, "cannot set the tail calls of the BPF programs: %m");
	r = hearth_bpf__attach(programs->skeleton);
	if (r < 0)
		return load_error_log(r, "attach the BPF programs to fork, exec and exit");

	r = libbpf_num_possible_cpus();
	if (r < 0)
		return log_error_errno(r, "cannot read the number of CPUs from "
					  "'/sys/devices/system/cpu/possible': %m");
	programs->n_possible_cpus = (size_t)r;
	programs->per_cpu =
		calloc(programs->n_possible_cpus * ABI_COUNTER_COUNT, sizeof(*programs->per_cpu));
	if (!programs->per_cpu)
		return log_error_errno(ENOMEM, "cannot make the table of counters: %m");
	r = open_rings(programs);
	if (r < 0)
		return log_error_errno(r, "cannot map the ring buffers: %m");
	*ret_programs = take_ptr(programs);
	return 0;
}

struct bpf_programs *bpf_programs_free(struct bpf_programs *programs)
{
	if (!programs)
		return NULL;
	program_links_release(&programs->links);
	record_ring_free(programs->samples);
	record_ring_free(programs->absent_pages);
	scoped_close(&programs->ring_fd);
	unwind_parts_release(&programs->unwind_parts);
	hearth_bpf__destroy(programs->skeleton);
	free(programs->per_cpu);
	free(programs);
	return NULL;
}

int bpf_programs_fd(const struct bpf_programs *programs, const char *name)
{
	const struct bpf_program *program =
		bpf_object__find_program_by_name(programs->skeleton->obj, name);

	return program ? bpf_program__fd(program) : -ENOENT;
}

int bpf_programs_attach(struct bpf_programs *programs, const struct bpf_program_set *set)
{
	return program_links_attach(&programs->links, programs->skeleton, set);
}

int bpf_programs_open_iterator(const struct bpf_programs *programs, const char *name)
{
	return program_links_open_iterator(&programs->links, name);
}

struct abi_control *bpf_programs_control(struct bpf_programs *programs)
{
	/* The skeleton's copy of the struct has another name but the same layout. */
	static_assert(sizeof(programs->skeleton->bss->control) == sizeof(struct abi_control),
		      "one header for both sides");
	return (struct abi_control *)(void *)&programs->skeleton->bss->control;
}

int bpf_programs_read_samples(struct bpf_programs *programs,
			      const struct bpf_record_functions *functions)
{
	int n_samples;
	int r;

	programs->functions = functions;
	r = record_ring_read(programs->samples);
	if (r < 0)
		return r;
	n_samples = r;
	r = record_ring_read(programs->absent_pages);
	return r < 0 ? r : n_samples;
}

void bpf_programs_on_absent_page(struct bpf_programs *programs, bpf_absent_page_function function,
				 void *arg)
{
	programs->absent_page = function;
	programs->absent_page_arg = arg;
}

static uint32_t count_deferred(const struct hearth_bpf *skeleton, uint64_t before_ns,
			       uint32_t states)
{
	uint32_t count = 0;

	for (size_t i = 0; i < ABI_DEFERRED_SLOTS; i++) {
		uint32_t state =
			__atomic_load_n(&skeleton->bss->deferred.state[i], __ATOMIC_RELAXED);

		count += state & states && skeleton->bss->deferred.since_ns[i] < before_ns;
	}
	return count;
}

int bpf_programs_sweep_deferred(struct bpf_programs *programs, uint64_t before_ns)
{
	struct abi_deferred_sweep argument = { .before_ns = before_ns };
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &argument,
		    .ctx_size_in = sizeof(argument));

	/* The count reads shared memory. Usually it is 0, and no system call is needed. */
	if (count_deferred(programs->skeleton, before_ns, ABI_DEFERRED_WAITING) > 0 &&
	    bpf_prog_test_run_opts(bpf_program__fd(programs->skeleton->progs.hearth_sweep_deferred),
				   &options) < 0)
		return -errno;
	return (int)count_deferred(programs->skeleton, before_ns,
				   ABI_DEFERRED_WAITING | ABI_DEFERRED_BUSY);
}

int bpf_programs_ring_fd(const struct bpf_programs *programs)
{
	return programs->ring_fd;
}

int bpf_programs_read_counters(struct bpf_programs *programs,
			       uint64_t ret_values[ABI_COUNTER_COUNT])
{
	int fd = bpf_map__fd(programs->skeleton->maps.counters);

	for (uint32_t id = 0; id < ABI_COUNTER_COUNT; id++) {
		uint64_t *values = programs->per_cpu + id * programs->n_possible_cpus;

		if (bpf_map_lookup_elem(fd, &id, values) < 0)
			return -errno;
		ret_values[id] = 0;
		for (size_t cpu = 0; cpu < programs->n_possible_cpus; cpu++)
			ret_values[id] += values[cpu];
	}
	return 0;
}

uint64_t bpf_programs_counter_of_cpu(const struct bpf_programs *programs, enum abi_counter id,
				     size_t cpu)
{
	assert(cpu < programs->n_possible_cpus);
	return programs->per_cpu[id * programs->n_possible_cpus + cpu];
}

size_t bpf_programs_n_cpus(const struct bpf_programs *programs)
{
	return programs->n_possible_cpus;
}

void bpf_programs_set_window(struct bpf_programs *programs, uint64_t window)
{
	__atomic_store_n(&programs->skeleton->bss->control.window, window, __ATOMIC_RELAXED);
}

size_t bpf_programs_map_value_bytes(const struct bpf_programs *programs, const char *name)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(programs->skeleton->obj, name);

	return map && bpf_map__autocreate(map) ? bpf_map__value_size(map) : 0;
}

int bpf_programs_find_process(const struct bpf_programs *programs, uint32_t pid,
			      struct abi_process *ret_process)
{
	return bpf_map_lookup_elem(bpf_map__fd(programs->skeleton->maps.processes), &pid,
				   ret_process) == 0;
}

int bpf_programs_put_process(struct bpf_programs *programs, uint32_t pid,
			     const struct abi_process *process)
{
	int fd = bpf_map__fd(programs->skeleton->maps.processes);

	return bpf_map_update_elem(fd, &pid, process, BPF_ANY) < 0 ? -errno : 0;
}

void bpf_programs_remove_process(struct bpf_programs *programs, uint32_t pid)
{
	(void)bpf_map_delete_elem(bpf_map__fd(programs->skeleton->maps.processes), &pid);
}

int bpf_programs_put_interpreter(struct bpf_programs *programs, uint32_t index,
				 const struct abi_interpreter *interpreter)
{
	int fd = bpf_map__fd(programs->skeleton->maps.interpreters);

	return bpf_map_update_elem(fd, &index, interpreter, BPF_ANY) < 0 ? -errno : 0;
}

int bpf_programs_put_jvm(struct bpf_programs *programs, uint32_t pid, const struct abi_jvm *jvm)
{
	int fd = bpf_map__fd(programs->skeleton->maps.jvms);
	int r = jvm ? bpf_map_update_elem(fd, &pid, jvm, BPF_ANY) : bpf_map_delete_elem(fd, &pid);

	return r < 0 ? -errno : 0;
}

int bpf_programs_put_chunk(struct bpf_programs *programs, const struct abi_chunk_key *key,
			   const struct abi_mapping_chunk *chunk)
{
	int fd = bpf_map__fd(programs->skeleton->maps.mapping_chunks);

	return bpf_map_update_elem(fd, key, chunk, BPF_ANY) < 0 ? -errno : 0;
}

void bpf_programs_remove_chunk(struct bpf_programs *programs, const struct abi_chunk_key *key)
{
	(void)bpf_map_delete_elem(bpf_map__fd(programs->skeleton->maps.mapping_chunks), key);
}

uint64_t bpf_programs_memory_bytes(struct bpf_programs *programs)
{
	return map_memory_read(&programs->map_memory, programs->skeleton->obj) +
	       unwind_parts_bytes(&programs->unwind_parts);
}

int bpf_programs_map_fd(const struct bpf_programs *programs, const char *name)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(programs->skeleton->obj, name);

	return map ? bpf_map__fd(map) : -ENOENT;
}

int bpf_programs_add_unwind_part(struct bpf_programs *programs, uint32_t part,
				 struct abi_unwind_slot **ret_slots)
{
	return unwind_parts_add(&programs->unwind_parts,
				bpf_map__fd(programs->skeleton->maps.unwind_pool), part, ret_slots);
}

void bpf_programs_remove_unwind_part(struct bpf_programs *programs, uint32_t part,
				     struct abi_unwind_slot *slots)
{
	unwind_parts_remove(&programs->unwind_parts,
			    bpf_map__fd(programs->skeleton->maps.unwind_pool), part, slots);
}

uint64_t bpf_programs_unwind_pool_bytes(const struct bpf_programs *programs)
{
	return unwind_parts_bytes(&programs->unwind_parts);
}

int bpf_programs_put_unwind_region(struct bpf_programs *programs, uint64_t key, uint32_t directory)
{
	int fd = bpf_map__fd(programs->skeleton->maps.unwind_regions);

	return bpf_map_update_elem(fd, &key, &directory, BPF_ANY) < 0 ? -errno : 0;
}

void bpf_programs_remove_unwind_region(struct bpf_programs *programs, uint64_t key)
{
	(void)bpf_map_delete_elem(bpf_map__fd(programs->skeleton->maps.unwind_regions), &key);
}

int bpf_programs_put_unwind_table(struct bpf_programs *programs, uint32_t executable,
				  const struct abi_unwind_info *info)
{
	int fd = bpf_map__fd(programs->skeleton->maps.unwind_tables);

	return bpf_map_update_elem(fd, &executable, info, BPF_ANY) < 0 ? -errno : 0;
}

void bpf_programs_remove_unwind_table(struct bpf_programs *programs, uint32_t executable)
{
	(void)bpf_map_delete_elem(bpf_map__fd(programs->skeleton->maps.unwind_tables), &executable);
}
