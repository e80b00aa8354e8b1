/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes and time per sample of segments made from recorded batches:
 *
 *   segment_bench [--minutes N] [--prefix TEXT] [--service NAME]... [--columns] FILE...
 *
 * Each FILE is the body of a POST /v1/ingest. The batches are those of any agents, in the order in
 * which they were sent. Event types that event_type.h does not have are left out. Segments have N
 * minutes (default: 60). --service selects processes by name. Names of figures begin with --prefix
 * (default: segment.).
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/file.h"
#include "common/hash_table.h"
#include "common/scoped.h"
#include "common/string_table.h"
#include "common/vec.h"
#include "common/zstd_frame.h"
#include "symbolizer/ingest/batch_decoder.h"
#include "symbolizer/store/segment/segment_builder.h"
#include "symbolizer/store/segment/segment_layout.h"
#include "symbolizer/store/segment/segment_sum.h"

#define SLOTS_PER_MINUTE (60 * (NSEC_PER_SEC / SLOT_NS))
#define MAX_SERVICES     16
#define SEGMENT_MEMORY   (4 * GIB)

/* A number of an agent in one epoch. */
struct number_key {
	struct hash128 agent;
	uint64_t epoch;
	uint32_t number;
	uint32_t table; /* 0 objects, 1 processes, 2 series, 3 stacks */
};

/* One segment in progress. */
struct target_key {
	uint32_t service;
	uint32_t type;
	uint64_t bucket;
};

struct target {
	struct segment_builder *builder;
	struct hash_table *stacks;  /* number_key -> row of STACK + 1 */
	struct hash_table *series;  /* number_key -> row of SERIES + 1 */
	struct hash_table *objects; /* number_key -> row of OBJECT + 1 */
};

struct bench {
	uint64_t minutes;
	const char *prefix;
	const char *services[MAX_SERVICES];
	unsigned int n_services;
	bool print_columns;
	struct hash_table *numbers; /* number_key -> pointer to the definition */
	struct hash_table *targets; /* target_key -> struct target */
	struct string_table *names;
	uint64_t n_rows, n_batches, batch_bytes;
	uint64_t resolve_ns;
};

/* Sums over all segments. */
struct figures {
	size_t column_bytes[SEGMENT_COLUMN_COUNT];
	size_t varint_bytes[SEGMENT_COLUMN_COUNT];
	size_t rows[SEGMENT_TABLE_COUNT];
	size_t text_bytes, bytes, n_segments, rollup_bytes;
	uint64_t finish_ns, encode_ns, decode_ns, sum_ns;
};

/* CPU time of this program, so that other programs do not change the figures. */
static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

static void check(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "segment_bench: %s: %s\n", what, strerror(-r));
	exit(1);
}

static struct number_key key_of(const struct batch *batch, uint32_t table, uint32_t number)
{
	return (struct number_key){
		.agent = batch->agent_id, .epoch = batch->epoch, .table = table, .number = number
	};
}

static void define(struct bench *bench, const struct batch *batch, uint32_t table, uint32_t number,
		   const void *definition)
{
	struct number_key key = key_of(batch, table, number);
	const void **slot;

	check(hash_table_insert(bench->numbers, &key, (void **)&slot), "definition");
	*slot = definition;
}

static const void *find(struct bench *bench, const struct batch *batch, uint32_t table,
			uint32_t number)
{
	struct number_key key = key_of(batch, table, number);
	const void **slot = hash_table_find(bench->numbers, &key);

	return slot ? *slot : NULL;
}

static void define_all(struct bench *bench, const struct batch *batch)
{
	for (uint32_t i = 0; i < batch->n_executables; i++)
		define(bench, batch, 0, batch->executables[i].number, &batch->executables[i]);
	for (uint32_t i = 0; i < batch->n_code_objects; i++)
		define(bench, batch, 0, FRAME_CODE_OBJECT | batch->code_objects[i].number,
		       &batch->code_objects[i]);
	for (uint32_t i = 0; i < batch->n_processes; i++)
		define(bench, batch, 1, batch->processes[i].number, &batch->processes[i]);
	for (uint32_t i = 0; i < batch->n_series; i++)
		define(bench, batch, 2, batch->series[i].number, &batch->series[i]);
	for (uint32_t i = 0; i < batch->n_stacks; i++)
		define(bench, batch, 3, batch->stacks[i].number, &batch->stacks[i]);
}

static uint64_t text(struct target *target, const char *value)
{
	uint64_t row;

	check(segment_builder_text(target->builder, value, strlen(value), &row), "text");
	return row;
}

static uint64_t add(struct target *target, enum segment_table table, const uint64_t *values)
{
	uint64_t row;

	check(segment_builder_add(target->builder, table, values, &row), "row");
	return row;
}

/* The first column of a list's rows is set to the row before, plus one. */
static uint64_t add_labels(struct target *target, const struct label *labels, uint32_t count)
{
	uint64_t list = 0;

	for (uint32_t i = 0; i < count; i++)
		list = 1 + add(target, SEGMENT_LABEL,
			       (uint64_t[]){ list, text(target, labels[i].name),
					     text(target, labels[i].value) });
	return list;
}

static uint64_t add_code_object(struct target *target, const struct batch_code_object *code)
{
	uint64_t id, lines;

	check(segment_builder_text(target->builder, &code->hash, sizeof(code->hash), &id), "hash");
	check(segment_builder_text(target->builder, code->line_table.data, code->line_table.size,
				   &lines),
	      "lines");
	return 1 +
	       add(target, SEGMENT_OBJECT,
		   (uint64_t[]){ SEGMENT_CODE_OBJECT, id, text(target, code->function), 0, lines });
}

static uint64_t add_executable(struct target *target, const struct batch_executable *executable)
{
	scoped(bytes_release) struct bytes segments = BYTES_INIT(MIB);
	uint64_t id, attributes;

	for (uint32_t i = 0; i < executable->n_segments; i++) {
		(void)bytes_append_varint(&segments, executable->segments[i].file_offset);
		(void)bytes_append_varint(&segments, executable->segments[i].vaddr);
		(void)bytes_append_varint(&segments, executable->segments[i].file_size);
	}
	check(segment_builder_text(target->builder, executable->id.bytes, executable->id.size, &id),
	      "identity");
	check(segment_builder_text(target->builder, segments.data, segments.size, &attributes),
	      "load segments");
	return 1 + add(target, SEGMENT_OBJECT,
		       (uint64_t[]){ executable->id.kind, id, text(target, executable->name),
				     executable->role, attributes });
}

/* 0 none, else row of OBJECT + 1. */
static uint64_t add_object(struct bench *bench, const struct batch *batch, struct target *target,
			   uint32_t number)
{
	struct number_key key = key_of(batch, 0, number);
	const void *object;
	uint64_t *row;

	check(hash_table_insert(target->objects, &key, (void **)&row), "object");
	object = *row ? NULL : find(bench, batch, 0, number);
	if (object)
		*row = number & FRAME_CODE_OBJECT ? add_code_object(target, object)
						  : add_executable(target, object);
	return *row;
}

static uint64_t add_process(struct bench *bench, const struct batch *batch, struct target *target,
			    const struct batch_process *process)
{
	uint64_t host, id, paths = 0;

	check(segment_builder_text(target->builder, &batch->agent_id, sizeof(batch->agent_id), &id),
	      "agent");
	host = add(target, SEGMENT_HOST,
		   (uint64_t[]){ id, text(target, batch->host.name),
				 add_labels(target, batch->host.labels, batch->host.n_labels) });
	for (uint32_t i = 0; i < process->n_paths; i++) {
		uint64_t object = add_object(bench, batch, target, process->paths[i].executable);

		if (object > 0)
			paths = 1 + add(target, SEGMENT_PATH,
					(uint64_t[]){ paths, object - 1,
						      text(target, process->paths[i].path) });
	}
	return add(target, SEGMENT_PROCESS,
		   (uint64_t[]){ host, process->start_time_ns, process->pid, process->parent_pid,
				 text(target, process->name),
				 text(target, process->executable_path),
				 add_object(bench, batch, target, process->main_executable),
				 process->kernel_thread, paths,
				 add_labels(target, process->labels, process->n_labels) });
}

/* Row of SERIES + 1. */
static uint64_t add_series(struct bench *bench, const struct batch *batch, struct target *target,
			   const struct batch_series *series, const struct batch_process *process)
{
	struct number_key key = key_of(batch, 2, series->number);
	uint64_t *row;

	check(hash_table_insert(target->series, &key, (void **)&row), "series");
	if (*row == 0)
		*row = 1 +
		       add(target, SEGMENT_SERIES,
			   (uint64_t[]){ add_process(bench, batch, target, process), series->tid,
					 text(target, series->thread_name),
					 (uint64_t)(series->cpu + 1), series->period_ns,
					 add_labels(target, series->labels, series->n_labels) });
	return *row;
}

/* 0 none, else row of STACK + 1. */
static uint64_t add_stack(struct bench *bench, const struct batch *batch, struct target *target,
			  uint32_t number)
{
	struct number_key key = key_of(batch, 3, number);
	const struct batch_stack *stack;
	uint64_t *row;
	uint64_t node = 0;

	check(hash_table_insert(target->stacks, &key, (void **)&row), "stack");
	if (*row > 0)
		return *row;
	stack = find(bench, batch, 3, number);
	if (!stack)
		return 0;
	for (uint32_t i = stack->n_frames; i > 0; i--) {
		const struct batch_frame *frame = &stack->frames[i - 1];
		uint64_t frame_row = add(
			target, SEGMENT_FRAME,
			(uint64_t[]){ frame->kind, add_object(bench, batch, target, frame->object),
				      frame->address });

		node = 1 + add(target, SEGMENT_NODE, (uint64_t[]){ node, frame_row });
	}
	*row = 1 + add(target, SEGMENT_STACK, (uint64_t[]){ node, stack->cut });
	return *row;
}

static struct target *find_target(struct bench *bench, const char *service,
				  const struct batch_series *series, uint64_t slot)
{
	const struct event_type_info *event = event_type_info(series->type);
	struct target_key key = { .type = series->type,
				  .bucket = slot / (bench->minutes * SLOTS_PER_MINUTE) };
	struct target *target;
	uint64_t tenant;

	check(string_table_intern(bench->names, service, strlen(service), &key.service), "service");
	check(hash_table_insert(bench->targets, &key, (void **)&target), "segment");
	if (target->builder)
		return target;
	check(segment_builder_new(&target->builder), "builder");
	check(hash_table_new(sizeof(struct number_key), 8, 0, &target->stacks), "stacks");
	check(hash_table_new(sizeof(struct number_key), 8, 0, &target->series), "series");
	check(hash_table_new(sizeof(struct number_key), 8, 0, &target->objects), "objects");
	tenant = text(target, "default");
	(void)add(target, SEGMENT_HEAD,
		  (uint64_t[]){ SEGMENT_SAMPLES, tenant, text(target, service),
				text(target, event->name), text(target, event->unit),
				event->kind });
	return target;
}

static bool is_selected(const struct bench *bench, const char *service)
{
	for (unsigned int i = 0; i < bench->n_services; i++) {
		if (strcmp(bench->services[i], service) == 0)
			return true;
	}
	return bench->n_services == 0;
}

static void add_rows(struct bench *bench, const struct batch *batch)
{
	const struct batch_series *series = NULL;
	const struct batch_process *process = NULL;
	struct target *target = NULL;
	uint64_t series_row = 0, next_bucket = 0;

	for (uint32_t i = 0; i < batch->n_rows; i++) {
		const struct batch_row *row = &batch->rows[i];

		if (!series || row->series != series->number || row->slot >= next_bucket) {
			series = find(bench, batch, 2, row->series);
			process = series ? find(bench, batch, 1, series->process) : NULL;
			if (!process || series->described || !is_selected(bench, process->name)) {
				series = NULL;
				continue;
			}
			target = find_target(bench, process->name, series, row->slot);
			series_row = add_series(bench, batch, target, series, process);
			next_bucket = (row->slot / (bench->minutes * SLOTS_PER_MINUTE) + 1) *
				      bench->minutes * SLOTS_PER_MINUTE;
		}
		(void)add(
			target, SEGMENT_ROW,
			(uint64_t[]){ series_row, row->slot,
				      row->stack ? add_stack(bench, batch, target, row->stack) : 0,
				      row->value });
		bench->n_rows++;
	}
}

static void read_batch(struct bench *bench, const char *path)
{
	scoped(bytes_release) struct bytes body = BYTES_INIT(BATCH_MAX_COMPRESSED_BYTES);
	struct batch *batch = calloc(1, sizeof(*batch)); /* for the whole run, like its arena */
	char message[DECODE_MESSAGE_SIZE];
	struct arena *arena;
	uint64_t start;

	check(batch ? 0 : -ENOMEM, path);
	check(file_read(path, &body), path);
	check(arena_new(BATCH_MAX_DECODED_BYTES, &arena), path);
	if (batch_decode(bytes_view_of(&body), arena, batch, message) < 0) {
		fprintf(stderr, "segment_bench: '%s': %s, skipping\n", path, message);
		return;
	}
	define_all(bench, batch);
	start = now_ns();
	add_rows(bench, batch);
	bench->resolve_ns += now_ns() - start;
	bench->n_batches++;
	bench->batch_bytes += body.size;
}

/* The size of a column as varints in one zstd frame, for comparison. */
static size_t varint_bytes(const struct segment *segment, unsigned int column)
{
	scoped(bytes_release) struct bytes plain = BYTES_INIT(SIZE_MAX);
	scoped(bytes_release) struct bytes packed = BYTES_INIT(SIZE_MAX);
	const uint64_t *values = segment->column[column];
	uint64_t last = 0;

	for (size_t i = 0; i < segment->count[segment_columns[column].table]; i++) {
		if (segment_columns[column].coding == CODING_RAW)
			(void)bytes_append_varint(&plain, values[i]);
		else
			(void)bytes_append_varint(&plain,
						  zigzag_encode((int64_t)(values[i] - last)));
		last = values[i];
	}
	check(zstd_compress(bytes_view_of(&plain), 3, &packed), "varints");
	return MIN(packed.size, plain.size);
}

static void sum_segment(const struct segment *segment, struct figures *figures)
{
	struct segment_sums sums = {};
	uint64_t start = now_ns();

	check(segment_sum_rows(segment, NULL, 1, (uint64_t[]){ 0, UINT64_MAX }, &sums), "sums");
	figures->sum_ns += now_ns() - start;
	vec_release(&sums);
}

static void roll_up(const struct segment *segment, struct segment_codec *codec,
		    struct figures *figures)
{
	scoped(segment_builder_freep) struct segment_builder *builder = NULL;
	scoped(bytes_release) struct bytes bytes = BYTES_INIT(SIZE_MAX);
	scoped(arena_freep) struct arena *arena = NULL;
	struct segment sums;

	check(arena_new(SEGMENT_MEMORY, &arena), "roll-up");
	check(segment_builder_new(&builder), "roll-up");
	check(segment_builder_add_rollup(builder, segment, 60 * SLOTS_PER_MINUTE), "roll-up");
	check(segment_builder_finish(builder, arena, &sums), "roll-up");
	check(segment_encode(&sums, codec, &bytes), "roll-up");
	figures->rollup_bytes += bytes.size;
}

static void measure(struct target *target, struct segment_codec *codec, bool columns,
		    struct figures *figures)
{
	scoped(arena_freep) struct arena *arena = NULL, *again = NULL;
	scoped(bytes_release) struct bytes bytes = BYTES_INIT(SIZE_MAX);
	size_t sizes[SEGMENT_COLUMN_COUNT], text_bytes;
	struct segment segment, decoded;
	uint64_t start = now_ns(), end;

	check(arena_new(SEGMENT_MEMORY, &arena), "memory");
	check(arena_new(SEGMENT_MEMORY, &again), "memory");
	check(segment_builder_finish(target->builder, arena, &segment), "finish");
	end = now_ns();
	figures->finish_ns += end - start;
	check(segment_encode(&segment, codec, &bytes), "encode");
	start = now_ns();
	figures->encode_ns += start - end;
	check(segment_decode(bytes_view_of(&bytes),
			     SEGMENT_SET(SEGMENT_SERIES) | SEGMENT_SET(SEGMENT_ROW), codec, again,
			     &decoded),
	      "decode");
	figures->decode_ns += now_ns() - start;
	sum_segment(&decoded, figures);
	if (segment.column[HEAD_EVENT_KIND][0] != EVENT_VALUE_STATE)
		roll_up(&segment, codec, figures);
	check(segment_measure(bytes_view_of(&bytes), sizes, &text_bytes), "sizes");
	for (unsigned int i = 0; i < SEGMENT_COLUMN_COUNT; i++) {
		figures->column_bytes[i] += sizes[i];
		if (columns)
			figures->varint_bytes[i] += varint_bytes(&segment, i);
	}
	for (unsigned int i = 0; i < SEGMENT_TABLE_COUNT; i++)
		figures->rows[i] += segment.count[i];
	figures->text_bytes += text_bytes;
	figures->bytes += bytes.size;
	figures->n_segments++;
}

static void print_columns(const struct figures *figures, double n_rows)
{
	static const char *const names[] = {
#define TABLE(table)
#define COLUMN(table, column, coding, reference, target) #table "_" #column,
#include "symbolizer/store/segment/segment_tables.def"
#undef TABLE
#undef COLUMN
	};

	fprintf(stderr, "# %-26s %10s %14s %14s\n", "column", "values", "bytes/sample",
		"as varints");
	for (unsigned int i = 0; i < SEGMENT_COLUMN_COUNT; i++)
		fprintf(stderr, "# %-26s %10zu %14.3f %14.3f\n", names[i],
			figures->rows[segment_columns[i].table],
			(double)figures->column_bytes[i] / n_rows,
			(double)figures->varint_bytes[i] / n_rows);
	fprintf(stderr, "# %-26s %10zu %14.3f\n", "texts", figures->rows[SEGMENT_TEXT],
		(double)figures->text_bytes / n_rows);
}

static void report(const struct bench *bench, const struct figures *figures)
{
	double n_rows = (double)MAX(bench->n_rows, UINT64_C(1));
	const struct {
		const char *name;
		double value;
		const char *unit;
	} rows[] = {
		{ "samples", n_rows, "samples" },
		{ "segments", (double)figures->n_segments, "segments" },
		{ "wire_bytes", (double)bench->batch_bytes / n_rows, "bytes/sample" },
		{ "bytes", (double)figures->bytes / n_rows, "bytes/sample" },
		{ "rollup_bytes", (double)figures->rollup_bytes / n_rows, "bytes/sample" },
		{ "collect_ns", (double)bench->resolve_ns / n_rows, "ns/sample" },
		{ "write_ns", (double)(figures->finish_ns + figures->encode_ns) / n_rows,
		  "ns/sample" },
		{ "decode_ns", (double)figures->decode_ns / n_rows, "ns/sample" },
		{ "sum_ns", (double)figures->sum_ns / n_rows, "ns/sample" },
	};

	if (bench->print_columns)
		print_columns(figures, n_rows);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		printf("%s%s %.3f %s\n", bench->prefix, rows[i].name, rows[i].value, rows[i].unit);
}

static void parse_options(struct bench *bench, int argc, char **argv)
{
	static const struct option options[] = {
		{ "minutes", required_argument, NULL, 'm' },
		{ "prefix", required_argument, NULL, 'p' },
		{ "service", required_argument, NULL, 's' },
		{ "columns", no_argument, NULL, 'c' },
		{},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'm')
			bench->minutes = strtoull(optarg, NULL, 10);
		else if (option == 'p')
			bench->prefix = optarg;
		else if (option == 's' && bench->n_services < MAX_SERVICES)
			bench->services[bench->n_services++] = optarg;
		else if (option == 'c')
			bench->print_columns = true;
		else
			check(-EINVAL, "options");
	}
	if (bench->minutes == 0)
		check(-EINVAL, "--minutes");
}

int main(int argc, char **argv)
{
	scoped(segment_codec_release) struct segment_codec codec = {};
	struct bench bench = { .minutes = 60, .prefix = "segment." };
	struct figures figures = {};
	struct target *target;
	size_t cursor = 0;

	parse_options(&bench, argc, argv);
	check(hash_table_new(sizeof(struct number_key), sizeof(void *), 0, &bench.numbers),
	      "memory");
	check(hash_table_new(sizeof(struct target_key), sizeof(struct target), 0, &bench.targets),
	      "memory");
	check(string_table_new(MIB, &bench.names), "memory");
	for (int i = optind; i < argc; i++)
		read_batch(&bench, argv[i]);
	while (hash_table_next(bench.targets, &cursor, NULL, (void **)&target))
		measure(target, &codec, bench.print_columns, &figures);
	report(&bench, &figures);
	return 0;
}
