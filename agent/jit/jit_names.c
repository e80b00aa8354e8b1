/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/jit/jit_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/jit/jit_names_private.h"

/* Processes that generate code, at a time. Their files take two descriptors each. */
#define MAX_PROCESSES 1024

/* Different addresses of one process in one window: 0.4 MiB. */
#define MAX_WANTED ((size_t)(16 * KIB))

#define PERF_MAP_PATH_BYTES 64

/* Windows (of 5 s) without a wanted address after which a process is forgotten. */
#define KEEP_WINDOWS 24

/* A window needs the ranges of the two windows before it too: waits may have begun there. */
#define KEEP_REPLACED_NS (15 * NSEC_PER_SEC)

/* What a helper failed on is tried again later and later. */
static const struct avoid_list_options failed_files = {
	.key_size = 2 * sizeof(uint64_t),
	.max_keys = 1024,
	.free_failures = 1,
	.first_ns = 10 * NSEC_PER_SEC,
	.max_ns = 3600 * NSEC_PER_SEC,
};

int jit_names_new(const struct jit_names_options *options, struct jit_names **ret_names)
{
	scoped(jit_names_freep) struct jit_names *names = calloc(1, sizeof(*names));
	int r;

	if (!names)
		return -ENOMEM;
	names->options = *options;
	r = hash_table_new(sizeof(uint32_t), sizeof(struct jit_process *), MAX_PROCESSES,
			   &names->processes);
	if (r < 0)
		return r;
	r = avoid_list_new(&failed_files, &names->avoided);
	if (r < 0)
		return r;
	*ret_names = take_ptr(names);
	return 0;
}

static struct jit_process *process_free(struct jit_process *process)
{
	if (!process)
		return NULL;
	for (size_t i = 0; i < JIT_FORMATS; i++)
		jit_file_release(&process->files[i]);
	(void)hash_table_free(process->wanted);
	free((char *)process->source.path);
	free(process);
	return NULL;
}
DEFINE_SCOPED(struct jit_process *, process_free);

struct jit_names *jit_names_free(struct jit_names *names)
{
	size_t cursor = 0;
	void *value;

	if (!names)
		return NULL;
	while (names->processes && hash_table_next(names->processes, &cursor, NULL, &value))
		(void)process_free(*(struct jit_process **)value);
	(void)hash_table_free(names->processes);
	(void)avoid_list_free(names->avoided);
	free(names);
	return NULL;
}

struct jit_process *jit_names_process(const struct jit_names *names, uint32_t number)
{
	struct jit_process **found = hash_table_find(names->processes, &number);

	return found ? *found : NULL;
}

static int process_new(struct jit_names *names, uint32_t number, struct jit_process **ret_process)
{
	scoped(process_freep) struct jit_process *process = calloc(1, sizeof(*process));
	void *value;
	int r = 0;

	if (!process)
		return -ENOMEM;
	process->names = names;
	process->number = number;
	for (size_t i = 0; i < JIT_FORMATS; i++)
		process->files[i].fd = -1;
	for (size_t i = 0; i < JIT_FORMATS && r == 0; i++)
		r = jit_file_init(&process->files[i]);
	if (r == 0)
		r = hash_table_new(sizeof(uint64_t), sizeof(uint64_t), MAX_WANTED,
				   &process->wanted);
	if (r == 0)
		r = hash_table_insert(names->processes, &number, &value);
	if (r < 0)
		return r;
	*(struct jit_process **)value = process;
	*ret_process = take_ptr(process);
	return 0;
}

/* The mapping of a jitdump; NULL: the process has none. */
static const struct process_mapping *find_dump(const struct jit_names *names,
					       const struct process *process)
{
	const struct process_mapping *found = NULL;

	for (size_t i = 0; process->mappings && i < process->mappings->count; i++) {
		const struct process_mapping *mapping = &process->mappings->items[i];

		if (!mapping->executable &&
		    jit_is_dump_path(string_table_text(names->options.strings, mapping->path)))
			found = mapping;
	}
	return found;
}

/* Describes where the files of @of are. It may have mapped a jitdump since the last window. */
static void describe(struct jit_process *process, const struct process *of)
{
	const struct process_mapping *dump = find_dump(process->names, of);

	free((char *)process->source.path);
	process->source = (struct jit_source){
		.pid = of->pid,
		.parent_pid = of->parent_pid,
		.start_time_ns = of->start_time_ns,
	};
	if (!dump)
		return;
	process->source.start = dump->start;
	process->source.end = dump->end;
	process->source.reported = dump->reported;
	process->source.path =
		strdup(string_table_text(process->names->options.strings, dump->path));
}

/* The name of an address. NULL: it has none, or it is not known yet. */
static const struct jit_known *known_of(const struct jit_process *process, uint64_t pc,
					uint64_t time_ns)
{
	/* A jitdump has more: times and source lines. */
	static const enum jit_format order[] = { JIT_DUMP, JIT_PERF_MAP };

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		const struct jit_file *file = &process->files[order[i]];
		const struct jit_known *known;
		uint64_t key;

		if (!jit_file_find(file, pc, time_ns, &key))
			continue;
		known = jit_file_known(file, process->names->options.objects, key);
		if (known && known->object != 0 && known->object != JIT_ASKED)
			return known;
	}
	return NULL;
}

static void want(void *arg, const struct process *of, uint64_t pc, uint64_t time_ns)
{
	struct jit_names *names = arg;
	struct jit_process *process = jit_names_process(names, of->number);
	const bool is_new = !process;
	void *value;

	if (!process && process_new(names, of->number, &process) < 0) {
		names->stats.dropped++;
		return;
	}
	if (is_new || process->last_window != names->window)
		describe(process, of);
	process->last_window = names->window;
	if (hash_table_insert(process->wanted, &pc, &value) == 1) {
		*(uint64_t *)value = time_ns;
		if (!known_of(process, pc, time_ns))
			process->lacks_names = true;
	}
	/* At once, because the process may exit, and its root be removed. */
	if (is_new)
		jit_look_up(process);
}

/*
 * The code object of all code that the perf map of @process does not describe: it has the path of
 * the map, and no name. 0: the process has no map, or there is no room.
 */
static uint32_t object_of_map(const struct jit_process *process)
{
	char path[PERF_MAP_PATH_BYTES];
	uint32_t number = 0;

	if (process->files[JIT_PERF_MAP].fd < 0)
		return 0;
	(void)snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", process->source.pid);
	(void)code_objects_find(process->names->options.objects,
				&(struct code_content){ .language = "jit", .file = path }, &number);
	return number;
}

static bool find(void *arg, uint32_t number, uint64_t pc, struct window_frame *frame)
{
	struct jit_names *names = arg;
	const struct jit_process *process = jit_names_process(names, number);
	const uint64_t *time_ns = process ? hash_table_find(process->wanted, &pc) : NULL;
	const struct jit_known *known = time_ns ? known_of(process, pc, *time_ns) : NULL;
	uint32_t object = 0;

	if (known)
		object = known->object;
	else if (time_ns)
		object = object_of_map(process);
	if (object == 0)
		return false;
	code_objects_use(names->options.objects, object);
	*frame = (struct window_frame){
		.address = known ? known->line : 0,
		.object = FRAME_CODE_OBJECT | object,
		.kind = FRAME_JIT,
	};
	return true;
}

struct code_namer jit_names_namer(struct jit_names *names)
{
	return (struct code_namer){ .arg = names, .want = want, .find = find };
}

void jit_names_begin(struct jit_names *names)
{
	size_t cursor = 0;
	void *value;

	while (hash_table_next(names->processes, &cursor, NULL, &value)) {
		struct jit_process *process = *(struct jit_process **)value;

		if (hash_table_count(process->wanted) > 0)
			jit_look_up(process);
	}
}

static bool has_file(const struct jit_process *process)
{
	for (size_t i = 0; i < JIT_FORMATS; i++)
		if (process->files[i].fd >= 0)
			return true;
	return false;
}

bool jit_names_begin_again(struct jit_names *names)
{
	size_t cursor = 0;
	void *value;

	while (hash_table_next(names->processes, &cursor, NULL, &value)) {
		struct jit_process *process = *(struct jit_process **)value;

		if (process->lacks_names && has_file(process))
			jit_look_up(process);
	}
	return jit_names_is_busy(names);
}

bool jit_names_is_busy(const struct jit_names *names)
{
	return names->n_busy > 0;
}

static void count_names(struct jit_names *names, const struct jit_process *process)
{
	size_t cursor = 0;
	const void *pc;
	void *time_ns;

	while (hash_table_next(process->wanted, &cursor, &pc, &time_ns)) {
		if (known_of(process, *(const uint64_t *)pc, *(uint64_t *)time_ns))
			names->stats.named++;
		else
			names->stats.unnamed++;
	}
}

static void begin_window_of(struct jit_process *process, uint64_t time_ns)
{
	count_names(process->names, process);
	hash_table_clear(process->wanted);
	for (size_t i = 0; i < JIT_FORMATS; i++) {
		jit_ranges_forget_replaced(&process->files[i].ranges,
					   time_ns - MIN(time_ns, KEEP_REPLACED_NS));
		if (process->names->lacks_objects && process->step == JIT_IDLE)
			hash_table_clear(process->files[i].known);
	}
}

void jit_names_begin_window(struct jit_names *names, uint64_t window)
{
	const uint64_t time_ns = clock_monotonic_ns(names->options.clock);
	size_t cursor = 0;
	void *value;

	names->window = window;
	while (hash_table_next(names->processes, &cursor, NULL, &value)) {
		struct jit_process *process = *(struct jit_process **)value;

		begin_window_of(process, time_ns);
		if (process->step != JIT_IDLE || process->last_window + KEEP_WINDOWS >= window)
			continue;
		hash_table_remove_at_cursor(names->processes, &cursor);
		(void)process_free(process);
	}
	names->lacks_objects = false;
}

size_t jit_names_n_ranges(const struct jit_names *names)
{
	size_t cursor = 0, count = 0;
	void *value;

	while (hash_table_next(names->processes, &cursor, NULL, &value)) {
		const struct jit_process *process = *(struct jit_process **)value;

		for (size_t i = 0; i < JIT_FORMATS; i++)
			count += jit_ranges_count(&process->files[i].ranges);
	}
	return count;
}

void jit_names_stats(const struct jit_names *names, struct jit_names_stats *ret_stats)
{
	*ret_stats = names->stats;
	ret_stats->processes = hash_table_count(names->processes);
	ret_stats->ranges = jit_names_n_ranges(names);
}
