/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes are chosen so that empty, single and many all occur. Stacks are derived from each other, so
 * that they share callers. Some values are at the limit of the format.
 */
#include "random_window.h"

#include <string.h>

#include "common/hash.h"
#include "common/limits.h"

struct source {
	uint64_t state;
	struct arena *arena;
};

static uint64_t next(struct source *source)
{
	/* splitmix64 */
	uint64_t z = source->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static uint64_t below(struct source *source, uint64_t limit)
{
	return next(source) % limit;
}

static size_t random_count(struct source *source, size_t most)
{
	switch (below(source, 4)) {
	case 0:
		return 0;
	case 1:
		return 1;
	default:
		return (size_t)below(source, most + 1);
	}
}

static uint64_t any_width(struct source *source)
{
	return next(source) >> below(source, 64);
}

static void *array(struct source *source, size_t count, size_t size)
{
	void *memory = arena_alloc_array(source->arena, count + 1, size);

	assert(memory);
	return memory;
}

static char *random_text(struct source *source)
{
	static const char *const words[] = { "",
					     "nginx",
					     "worker/3",
					     "postgres: writer",
					     "a b",
					     "日本語",
					     "/usr/lib/x86_64-linux-gnu/libc.so.6",
					     "libssl.so.3",
					     "caf\xc3\xa9 \xef\xbf\xbd" };
	char *text = arena_format(source->arena, "%s%llu", words[below(source, ARRAY_SIZE(words))],
				  (unsigned long long)below(source, 20));

	assert(text);
	return text;
}

static struct window_label *random_labels(struct source *source, size_t *ret_count)
{
	size_t count = random_count(source, MAX_LABELS_PER_PROCESS);
	struct window_label *labels = array(source, count, sizeof(*labels));

	for (size_t i = 0; i < count; i++)
		labels[i] = (struct window_label){ .name = random_text(source),
						   .value = random_text(source) };
	*ret_count = count;
	return labels;
}

/* Sorted by name, as the decoder returns them. */
static struct window_label *random_series_labels(struct source *source, size_t *ret_count)
{
	size_t count = random_count(source, MAX_LABELS_PER_SERIES);
	struct window_label *labels = array(source, count, sizeof(*labels));

	for (size_t i = 0; i < count; i++) {
		labels[i].name = arena_format(source->arena, "label%zu", i);
		labels[i].value = random_text(source);
	}
	*ret_count = count;
	return labels;
}

static struct executable *random_executable(struct source *source, uint32_t number)
{
	struct executable *executable = array(source, 1, sizeof(*executable));
	uint8_t id[EXECUTABLE_ID_MAX_BYTES];
	unsigned int kind = (unsigned int)below(source, 4);
	size_t id_size = 4 + below(source, EXECUTABLE_ID_MAX_BYTES - 3);

	for (size_t i = 0; i < sizeof(id); i++)
		id[i] = (uint8_t)next(source);
	if (kind != EXECUTABLE_ID_NONE)
		(void)executable_id_set(&executable->id, kind, id, id_size);
	executable->number = number;
	executable->role = (enum executable_role)below(source, 4);
	executable->name = random_text(source);
	executable->n_segments = random_count(source, MAX_LOAD_SEGMENTS);
	executable->segments = array(source, executable->n_segments, sizeof(*executable->segments));
	for (size_t i = 0; i < executable->n_segments; i++)
		executable->segments[i] = (struct load_segment){
			.file_offset = any_width(source) / 2,
			.vaddr = any_width(source) / 2,
			.file_size = any_width(source) / 2,
		};
	return executable;
}

static void random_definitions(struct source *source, struct window *window)
{
	size_t n_executables = random_count(source, 40);
	size_t n_processes = random_count(source, 40);
	size_t n_series = random_count(source, 60);
	struct executable **executables = array(source, n_executables, sizeof(*executables));
	struct window_process *processes = array(source, n_processes, sizeof(*processes));
	struct window_series *series = array(source, n_series, sizeof(*series));

	for (size_t i = 0; i < n_executables; i++)
		executables[i] = random_executable(source, 1 + (uint32_t)any_width(source) / 2);
	for (size_t i = 0; i < n_processes; i++) {
		struct window_path *paths;

		processes[i] = (struct window_process){
			.number = 1 + (uint32_t)any_width(source) / 2,
			.pid = (uint32_t)any_width(source),
			.parent_pid = (uint32_t)any_width(source),
			.start_time_ns = any_width(source) >> 2,
			.name = random_text(source),
			.executable_path = random_text(source),
			.main_executable = (uint32_t)any_width(source),
			.kernel_thread = below(source, 2),
			.without_stacks = below(source, 2),
			.n_paths = random_count(source, 30),
		};
		paths = array(source, processes[i].n_paths, sizeof(*paths));
		for (size_t k = 0; k < processes[i].n_paths; k++)
			paths[k] =
				(struct window_path){ .executable =
							      1 + (uint32_t)any_width(source) / 2,
						      .path = random_text(source) };
		processes[i].paths = paths;
		processes[i].labels = random_labels(source, &processes[i].n_labels);
	}
	for (size_t i = 0; i < n_series; i++) {
		series[i] = (struct window_series){
			.number = 1 + (uint32_t)any_width(source) / 2,
			.process = 1 + (uint32_t)any_width(source) / 2,
			.tid = (uint32_t)any_width(source),
			.thread_name = random_text(source),
			.type = (enum event_type)(1 + below(source, EVENT_TYPE_END - 1)),
			.cpu = (int)below(source, 1025) - 1,
			.period_ns = any_width(source) >> 24,
		};
		series[i].labels = random_series_labels(source, &series[i].n_labels);
	}
	window->executables = executables;
	window->n_executables = n_executables;
	window->processes = processes;
	window->n_processes = n_processes;
	window->series = series;
	window->n_series = n_series;
}

/* A kind of the table, or one that this version does not know. */
static struct window_frame random_frame(struct source *source)
{
	uint8_t kind = (uint8_t)(1 + below(source, FRAME_KIND_MAX));
	uint32_t object = (uint32_t)below(source, 50);

	if (below(source, 4))
		kind = (uint8_t)(1 + below(source, FRAME_KERNEL_CODE));
	if (below(source, 2))
		object |= FRAME_CODE_OBJECT;
	if (object == FRAME_CODE_OBJECT ||
	    !frame_kind_allows(kind, object & FRAME_CODE_OBJECT ? FRAME_OBJECT_CODE
								: FRAME_OBJECT_EXECUTABLE))
		object = 0;
	return (struct window_frame){
		.kind = kind,
		.object = object,
		.address = below(source, 2) ? 0x1000 + below(source, 0x100000) : next(source),
	};
}

/* Creates a stack that shares a random number of callers with @parent. */
static void random_stack(struct source *source, const struct window_stack *parent,
			 struct window_stack *ret_stack)
{
	uint32_t shared = parent ? (uint32_t)below(source, parent->n_frames + 1) : 0;
	uint32_t most = below(source, 20) ? 40 : STACK_MAX_FRAMES;
	uint32_t own = (uint32_t)below(source, MIN(most, STACK_MAX_FRAMES - shared) + 1);
	struct window_frame *frames = array(source, shared + own, sizeof(*frames));

	for (uint32_t i = 0; i < own; i++)
		frames[i] = random_frame(source);
	if (shared)
		memcpy(frames + own, parent->frames + parent->n_frames - shared,
		       shared * sizeof(*frames));
	ret_stack->cut = (uint8_t)below(source, STACK_CUT_END);
	ret_stack->n_frames = shared + own;
	ret_stack->frames = frames;
}

static void random_stacks(struct source *source, struct window *window)
{
	window->n_stacks = random_count(source, 300);
	window->stacks = array(source, window->n_stacks, sizeof(*window->stacks));
	for (size_t i = 0; i < window->n_stacks; i++) {
		const struct window_stack *parent =
			i > 0 && below(source, 8) ? &window->stacks[below(source, i)] : NULL;

		random_stack(source, parent, &window->stacks[i]);
		/* Each number once, in no particular order. */
		window->stacks[i].number = 1 + ((uint32_t)i * 7919) % 65521;
	}
}

static void random_rows(struct source *source, struct window *window)
{
	uint64_t first = window->opened_monotonic_ns / SLOT_NS;
	uint64_t span = (window->closed_monotonic_ns - window->opened_monotonic_ns) / SLOT_NS + 1;
	bool only_ones = below(source, 2);

	window->n_rows = random_count(source, 2000);
	window->rows = array(source, window->n_rows, sizeof(*window->rows));
	for (size_t i = 0; i < window->n_rows; i++)
		window->rows[i] = (struct window_row){
			.series = 1 + (uint32_t)(below(source, 8)
							 ? below(source, 30)
							 : any_width(source) / 2 % INT32_MAX),
			.stack = (uint32_t)below(source, 8) ? (uint32_t)below(source, 40)
							    : (uint32_t)any_width(source),
			.slot = first + below(source, span),
			.value = only_ones ? 1 : below(source, 1000000000),
		};
}

static void random_code_object(struct source *source, uint32_t number, struct code_object *object)
{
	uint8_t *lines;

	*object = (struct code_object){
		.number = number,
		.content = {
			.language = random_text(source),
			.function = random_text(source),
			.qualified_name = below(source, 2) ? random_text(source) : NULL,
			.file = below(source, 2) ? random_text(source) : NULL,
			.first_line = (uint32_t)any_width(source),
			.line_table.size = random_count(source, 300),
		},
	};
	lines = array(source, object->content.line_table.size, 1);
	for (size_t i = 0; i < object->content.line_table.size; i++)
		lines[i] = (uint8_t)next(source);
	object->content.line_table.data = lines;
}

static void random_side_tables(struct source *source, struct window *window)
{
	const struct code_object **pointers;
	struct code_object *objects;
	struct window_counter *counters;

	window->n_code_objects = random_count(source, 10);
	window->n_counters = random_count(source, 30);
	objects = array(source, window->n_code_objects, sizeof(*objects));
	pointers = array(source, window->n_code_objects, sizeof(*pointers));
	counters = array(source, window->n_counters, sizeof(*counters));
	for (size_t i = 0; i < window->n_code_objects; i++) {
		random_code_object(source, (uint32_t)i + 1, &objects[i]);
		pointers[i] = &objects[i];
	}
	for (size_t i = 0; i < window->n_counters; i++)
		counters[i] = (struct window_counter){ .name = random_text(source),
						       .value = any_width(source) };
	window->code_objects = pointers;
	window->counters = counters;
}

static void random_host(struct source *source, struct window_host *host)
{
	const char **ips;

	*host = (struct window_host){
		.name = random_text(source),
		.machine_id = random_text(source),
		.boot_id = random_text(source),
		.kernel_release = random_text(source),
		.architecture = "x86_64",
		.n_cpus = (uint32_t)below(source, 1024),
		.n_ips = random_count(source, 10),
	};
	ips = array(source, host->n_ips, sizeof(*ips));
	for (size_t i = 0; i < host->n_ips; i++)
		ips[i] = random_text(source);
	host->ips = ips;
	host->labels = random_labels(source, &host->n_labels);
}

void random_window(uint64_t seed, struct arena *arena, struct window *ret_window)
{
	struct source source = { .state = seed, .arena = arena };
	/* The clocks differ by a whole number of slots, so slots are the same in both. */
	uint64_t opened = (1000 + below(&source, 1000000)) * SLOT_NS;
	uint64_t closed = opened + below(&source, 6000) * SLOT_NS;

	*ret_window = (struct window){
		.epoch = 1 + any_width(&source) / 4,
		.sequence = 1 + any_width(&source) / 4,
		.opened_monotonic_ns = opened,
		.closed_monotonic_ns = closed,
		.closed_wall_ns = closed + UINT64_C(170000000000) * SLOT_NS,
	};
	for (size_t i = 0; i < sizeof(ret_window->agent_id); i++)
		ret_window->agent_id[i] = (uint8_t)next(&source);
	random_host(&source, &ret_window->host);
	random_definitions(&source, ret_window);
	random_stacks(&source, ret_window);
	random_rows(&source, ret_window);
	random_side_tables(&source, ret_window);
}
