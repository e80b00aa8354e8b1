/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/store_dump.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/frame_kind.h"
#include "common/vec.h"
#include "tests/support/unit.h"

#define MAX_NAMES 64

struct dump {
	const struct dump_request *request;
	struct store_view *view;
	struct arena *arena;
	VEC_DEFINE(, const char *) lines;
	struct store_host *hosts;
	size_t n_hosts;
	struct store_series *series;
	size_t n_series;
};

__attribute__((format(printf, 2, 3))) static void add(struct dump *dump, const char *format, ...)
{
	va_list arguments;
	char *text = NULL;

	va_start(arguments, format);
	assert_true(vasprintf(&text, format, arguments) >= 0);
	va_end(arguments);
	assert_ok(vec_push(&dump->lines, text));
}

static const char *labels_text(struct dump *dump, const struct label *labels, uint32_t count)
{
	const char *text = "";

	for (uint32_t i = 0; i < count; i++)
		text = arena_format(dump->arena, "%s %s=%s", text, labels[i].name, labels[i].value);
	return text;
}

static const char *executable_text(struct dump *dump, const struct store_executable *executable)
{
	char id[EXECUTABLE_ID_TEXT_SIZE];
	const char *text;

	executable_id_format(&executable->identity, id);
	text = arena_format(dump->arena, "%s %s role %d", id, executable->name, executable->role);
	for (uint32_t i = 0; i < executable->n_segments; i++)
		text = arena_format(dump->arena, "%s +%" PRIx64 ":%" PRIx64 ":%" PRIx64, text,
				    executable->segments[i].file_offset,
				    executable->segments[i].vaddr,
				    executable->segments[i].file_size);
	return text;
}

static void dump_hosts(struct dump *dump)
{
	assert_ok(store_list_hosts(dump->view, dump->arena, &dump->hosts, &dump->n_hosts));
	for (size_t i = 0; i < dump->n_hosts; i++) {
		const struct store_host *host = &dump->hosts[i];
		const char *ips = "";

		for (uint32_t k = 0; k < host->n_ips; k++)
			ips = arena_format(dump->arena, "%s %s", ips, host->ips[k]);
		add(dump, "host %s %s %s %s %s %s cpus %u ips%s labels%s seen %" PRIu64 " %" PRIu64,
		    host->name, host->agent_id, host->kernel_release, host->architecture,
		    host->agent_version, host->boot_id, host->n_cpus, ips,
		    labels_text(dump, host->labels, host->n_labels), host->first_seen_ns,
		    host->last_seen_ns);
	}
}

static const char *series_text(struct dump *dump, const struct store_series *series)
{
	const struct event_type_info *event = store_series_event(series);
	const struct store_process *process = series->process;
	const char *head = arena_format(
		dump->arena, "%s %s pid %u start %" PRIu64 " %s kernel %d without %d",
		process->host->name, process->name, process->pid, process->start_time_ns,
		process->executable_path, process->kernel_thread, process->without_stacks);

	return arena_format(dump->arena, "%s%s tid %u %s %s/%s/%d cpu %d period %" PRIu64 "%s",
			    head, labels_text(dump, process->labels, process->n_labels),
			    series->tid, series->thread_name, event->name, event->unit, event->kind,
			    series->cpu, series->period_ns,
			    labels_text(dump, series->labels, series->n_labels));
}

static void dump_series(struct dump *dump)
{
	const struct store_series_query query = { .from_slot = dump->request->from_slot,
						  .to_slot = dump->request->to_slot };

	assert_ok(
		store_find_series(dump->view, &query, dump->arena, &dump->series, &dump->n_series));
	for (size_t i = 0; i < dump->n_series; i++) {
		const struct store_series *series = &dump->series[i];
		struct store_executable executable = { .name = "" };

		assert_true(i == 0 || series->id > series[-1].id);
		assert_string_equal(series->tenant, dump->request->tenant);
		assert_ok(store_load_executables(dump->view, &series->process->main_executable, 1,
						 dump->arena, &executable));
		add(dump, "series %s main %s", series_text(dump, series),
		    executable_text(dump, &executable));
	}
}

static const char *object_text(struct dump *dump, const struct store_frame *frame)
{
	uint32_t id = frame->object & ~FRAME_CODE_OBJECT;
	struct store_executable executable;
	struct store_code_object code;

	if (frame->object == 0)
		return "";
	if (!(frame->object & FRAME_CODE_OBJECT)) {
		assert_ok(store_load_executables(dump->view, &id, 1, dump->arena, &executable));
		return executable_text(dump, &executable);
	}
	assert_ok(store_load_code_objects(dump->view, &id, 1, dump->arena, &code));
	assert_int_equal(code.id, id);
	return arena_format(dump->arena, "%s %s %s %s:%u table %zu", code.language, code.function,
			    code.qualified_name, code.file, code.first_line, code.line_table.size);
}

static const char *frame_text(struct dump *dump, const struct store_frame *frame)
{
	const char *name = NULL;

	if (frame->kind == FRAME_KERNEL_NAMED) {
		assert_ok(store_named_frames(dump->view, &frame->address, 1, dump->arena, &name));
		return arena_format(dump->arena, "[named %s]", name ? name : "?");
	}
	return arena_format(dump->arena, "[%u %" PRIx64 " %s]", frame->kind, frame->address,
			    object_text(dump, frame));
}

static const char *stack_text(struct dump *dump, const struct store_stack *stack)
{
	const char *text = arena_format(dump->arena, "cut %u", stack->cut);

	for (uint32_t i = 0; i < stack->n_frames; i++)
		text = arena_format(dump->arena, "%s %s", text,
				    frame_text(dump, &stack->frames[i]));
	return text;
}

/* The texts of the stacks of the sums, with one call for all. */
static const char **load_stacks(struct dump *dump, const struct store_sums *sums)
{
	const char **texts = arena_alloc_array(dump->arena, sums->count, sizeof(*texts));
	struct store_stack *stacks = arena_alloc_array(dump->arena, sums->count, sizeof(*stacks));
	uint64_t *ids = arena_alloc_array(dump->arena, sums->count, sizeof(*ids));

	assert_true(texts && stacks && ids);
	for (size_t i = 0; i < sums->count; i++)
		ids[i] = sums->items[i].stack;
	assert_ok(store_load_stacks(dump->view, ids, sums->count, dump->arena, stacks));
	for (size_t i = 0; i < sums->count; i++)
		texts[i] = stack_text(dump, &stacks[i]);
	return texts;
}

/* Each series is a group. */
static void dump_sums(struct dump *dump)
{
	struct store_sum_series *summed =
		arena_alloc_array(dump->arena, dump->n_series, sizeof(*summed));
	const struct store_sum_query query = { .series = summed,
					       .n_series = dump->n_series,
					       .from_slot = dump->request->from_slot,
					       .to_slot = dump->request->to_slot,
					       .last_slots = true };
	struct store_sums sums = {};
	const char **texts;

	assert_non_null(summed);
	for (size_t i = 0; i < dump->n_series; i++)
		summed[i] = (struct store_sum_series){ .id = dump->series[i].id,
						       .factor = 1,
						       .group = (uint32_t)i };
	assert_ok(store_sum(dump->view, &query, &sums));
	texts = load_stacks(dump, &sums);
	for (size_t i = 0; i < sums.count; i++)
		add(dump, "sum %s : %s : %" PRIu64 " last %" PRIu64,
		    series_text(dump, &dump->series[sums.items[i].group]), texts[i],
		    sums.items[i].value, sums.items[i].last_slot);
	store_sums_release(&sums);
}

struct row_scan {
	uint64_t n_rows, sum, mix;
};

static int on_row(void *arg, uint32_t series, uint64_t stack, uint64_t slot, uint64_t value)
{
	struct row_scan *scan = arg;

	(void)series;
	(void)stack;
	scan->n_rows++;
	scan->sum += value;
	scan->mix += slot * value;
	return 0;
}

static void dump_rows(struct dump *dump)
{
	for (size_t i = 0; i < dump->n_series; i++) {
		const struct store_range range = { .series_ids = &dump->series[i].id,
						   .n_series = 1,
						   .from_slot = dump->request->from_slot,
						   .to_slot = dump->request->to_slot };
		struct row_scan scan = {};

		assert_ok(store_scan(dump->view, &range, on_row, &scan));
		add(dump, "rows %s : %" PRIu64 " %" PRIu64 " %" PRIu64,
		    series_text(dump, &dump->series[i]), scan.n_rows, scan.sum, scan.mix);
	}
}

static void dump_paths(struct dump *dump)
{
	for (size_t i = 0; i < dump->n_series; i++) {
		const struct store_process *process = dump->series[i].process;
		const struct store_mapped_file files[] = {
			{ .process = process->id, .executable = process->main_executable },
			{ .process = process->id, .executable = process->main_executable },
			{ .executable = process->main_executable },
			{ .process = process->id },
		};
		const char *paths[ARRAY_SIZE(files)];

		assert_ok(store_paths_of(dump->view, files, ARRAY_SIZE(files), dump->arena, paths));
		add(dump, "path %s : %s, %s, %s, %s", series_text(dump, &dump->series[i]),
		    paths[0] ? paths[0] : "-", paths[1] ? paths[1] : "-", paths[2] ? "any" : "-",
		    paths[3] ? paths[3] : "-");
	}
}

static const char *host_name(const struct dump *dump, uint32_t id)
{
	for (size_t i = 0; i < dump->n_hosts; i++)
		if (dump->hosts[i].id == id)
			return dump->hosts[i].name;
	return "?";
}

static int on_coverage(void *arg, uint32_t host, uint64_t first_slot, uint64_t last_slot)
{
	struct dump *dump = arg;

	add(dump, "covered %s %" PRIu64 " %" PRIu64, host_name(dump, host), first_slot, last_slot);
	return 0;
}

static int on_counters(void *arg, const struct store_batch_counters *counters)
{
	struct dump *dump = arg;
	const char *text = "";

	for (size_t i = 0; i < dump->request->n_counters; i++)
		text = arena_format(dump->arena, "%s %" PRIu64, text, counters->values[i]);
	add(dump, "counters %s %" PRIu64 " %" PRIu64 " %" PRIu64 " delay %" PRId64 "%s",
	    dump->hosts[counters->host_index].name, counters->sequence, counters->opened_wall_ns,
	    counters->closed_wall_ns, counters->delay_ms, text);
	return 0;
}

static void dump_batches(struct dump *dump)
{
	uint32_t *hosts = arena_alloc_array(dump->arena, dump->n_hosts, sizeof(*hosts));
	const struct store_counter_query query = { .hosts = hosts,
						   .n_hosts = dump->n_hosts,
						   .from_slot = dump->request->from_slot,
						   .to_slot = dump->request->to_slot,
						   .names = dump->request->counters,
						   .n_names = dump->request->n_counters,
						   .max_batches = 1000 };

	assert_non_null(hosts);
	for (size_t i = 0; i < dump->n_hosts; i++)
		hosts[i] = dump->hosts[i].id;
	assert_ok(store_scan_coverage(dump->view, hosts, dump->n_hosts, dump->request->from_slot,
				      dump->request->to_slot, on_coverage, dump));
	assert_ok(store_scan_counters(dump->view, &query, on_counters, dump));
}

static void dump_services(struct dump *dump)
{
	const struct store_series_query query = { .from_slot = dump->request->from_slot,
						  .to_slot = dump->request->to_slot };
	struct store_service *services;
	struct store_active_service *active;
	size_t n_services, n_active;

	assert_ok(store_list_services(dump->view, MAX_NAMES, dump->arena, &services, &n_services));
	for (size_t i = 0; i < n_services; i++)
		add(dump, "service %s without %d", services[i].name, services[i].without_stacks);
	assert_ok(store_active_services(dump->view, &query, dump->arena, &active, &n_active));
	for (size_t i = 0; i < n_active; i++)
		add(dump, "active %s %s/%s hosts %u processes %u", active[i].name,
		    active[i].event->name, active[i].event->unit, active[i].n_hosts,
		    active[i].n_processes);
	for (size_t i = 0; i < n_active; i++) {
		uint64_t slot = 0;
		int r = store_last_slot(dump->view, active[i].name, active[i].type, &slot);

		add(dump, "last %s %s %d %" PRIu64, active[i].name, active[i].event->name, r, slot);
	}
}

static void dump_names(struct dump *dump)
{
	struct event_type_info info = { .name = "", .unit = "" };
	const char **names;
	size_t count;
	uint64_t slot = 0;
	int r;

	assert_ok(store_list_label_names(dump->view, "", MAX_NAMES, dump->arena, &names, &count));
	for (size_t i = 0; i < count; i++)
		add(dump, "label %s", names[i]);
	r = store_find_event_type(dump->view, "page-faults", dump->arena, &info);
	add(dump, "event %d %s %s %d", r, info.name, info.unit, info.kind);
	r = store_find_event_type(dump->view, "no-such-type", dump->arena, &info);
	add(dump, "unknown event %d", r);
	r = store_last_slot(dump->view, NULL, EVENT_ON_CPU, &slot);
	add(dump, "last on-cpu %d %" PRIu64, r, slot);
	r = store_last_slot(dump->view, "no-such-service", EVENT_ON_CPU, &slot);
	add(dump, "last of unknown %d", r);
}

static int compare_lines(const void *left, const void *right)
{
	const char *const *a = left, *const *b = right;

	return strcmp(*a, *b);
}

void store_dump(struct store *store, const struct dump_request *request, struct bytes *out)
{
	const struct store_view_options options = { .tenant = request->tenant };
	struct dump dump = { .request = request };

	assert_ok(arena_new(512 * MIB, &dump.arena));
	assert_ok(store_view_open(store, &options, &dump.view));
	dump_hosts(&dump);
	dump_series(&dump);
	dump_sums(&dump);
	dump_rows(&dump);
	dump_paths(&dump);
	dump_batches(&dump);
	dump_services(&dump);
	dump_names(&dump);
	qsort(dump.lines.items, dump.lines.count, sizeof(*dump.lines.items), compare_lines);
	for (size_t i = 0; i < dump.lines.count; i++) {
		(void)bytes_append_format(out, "%s\n", dump.lines.items[i]);
		free((char *)(uintptr_t)dump.lines.items[i]);
	}
	assert_ok(bytes_append_byte(out, '\0'));
	vec_release(&dump.lines);
	(void)store_view_close(dump.view);
	(void)arena_free(dump.arena);
}
