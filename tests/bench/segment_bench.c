/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes and time per sample of segments made from recorded batches:
 *
 *   segment_bench [--minutes N] [--prefix TEXT] [--service NAME]... [--columns] FILE...
 *
 * Each FILE is the body of a POST /v1/ingest. The batches are those of any agents, in the order in
 * which they were sent. Segments have N minutes (default: 60). --service selects processes by name;
 * collect and wire are of all. Names of figures begin with --prefix (default: segment.).
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/file.h"
#include "common/scoped.h"
#include "common/vec.h"
#include "common/zstd_frame.h"
#include "symbolizer/ingest/batch_decoder.h"
#include "symbolizer/store/head/head.h"
#include "symbolizer/store/segment/segment_builder.h"
#include "symbolizer/store/segment/segment_layout.h"
#include "symbolizer/store/segment/segment_sum.h"

#define SLOTS_PER_MINUTE (60 * (NSEC_PER_SEC / SLOT_NS))
#define MAX_SERVICES     16
#define SEGMENT_MEMORY   (4 * GIB)

struct bench {
	uint64_t minutes;
	const char *prefix;
	const char *services[MAX_SERVICES];
	unsigned int n_services;
	bool print_columns;
	struct head *head;
	uint64_t n_rows, batch_bytes; /* of all services */
	uint64_t n_measured;          /* rows in the segments of the services */
	uint64_t collect_ns, known_ns;
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

static bool is_selected(const struct bench *bench, const struct segment *segment)
{
	struct bytes_view service = segment_text(segment, segment->column[HEAD_SERVICE][0]);

	for (unsigned int i = 0; i < bench->n_services; i++) {
		if (strlen(bench->services[i]) == service.size &&
		    memcmp(bench->services[i], service.data, service.size) == 0)
			return true;
	}
	return bench->n_services == 0;
}

/* Removes the definitions of a batch. */
static void keep_rows_only(struct batch *batch)
{
	batch->n_executables = 0;
	batch->n_code_objects = 0;
	batch->n_processes = 0;
	batch->n_series = 0;
	batch->n_stacks = 0;
}

/* @again: the head has the definitions already. Returns the time in head_add(). */
static uint64_t read_batch(struct bench *bench, const char *path, bool again)
{
	scoped(bytes_release) struct bytes body = BYTES_INIT(BATCH_MAX_COMPRESSED_BYTES);
	scoped(arena_freep) struct arena *arena = NULL;
	char message[DECODE_MESSAGE_SIZE];
	struct store_missing missing;
	struct batch batch;
	uint64_t start;
	int r;

	check(file_read(path, &body), path);
	check(arena_new(BATCH_MAX_DECODED_BYTES, &arena), path);
	if (batch_decode(bytes_view_of(&body), arena, &batch, message) < 0) {
		fprintf(stderr, "segment_bench: '%s': %s, skipping\n", path, message);
		return 0;
	}
	if (again)
		keep_rows_only(&batch);
	start = now_ns();
	r = head_add(bench->head, "default", &batch, arena, &missing);
	start = now_ns() - start;
	check(r, path);
	if (r == STORE_NEEDS_NUMBERS)
		fprintf(stderr, "segment_bench: '%s' has unknown numbers, skipping\n", path);
	if (r == STORE_NEEDS_NUMBERS || again)
		return start;
	bench->n_rows += batch.n_rows;
	bench->batch_bytes += body.size;
	return start;
}

/* Adds all batches twice, without definitions, and keeps the time of the second run. */
static void measure_known(struct bench *bench, char **files, int count)
{
	for (int run = 0; run < 2; run++) {
		bench->known_ns = 0;
		for (int i = 0; i < count; i++)
			bench->known_ns += read_batch(bench, files[i], true);
	}
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

static void measure(struct bench *bench, const struct segment_builder *builder,
		    struct segment_codec *codec, struct figures *figures)
{
	scoped(arena_freep) struct arena *arena = NULL, *again = NULL;
	scoped(bytes_release) struct bytes bytes = BYTES_INIT(SIZE_MAX);
	size_t sizes[SEGMENT_COLUMN_COUNT], text_bytes;
	struct segment segment, decoded;
	uint64_t start = now_ns(), end;

	check(arena_new(SEGMENT_MEMORY, &arena), "memory");
	check(arena_new(SEGMENT_MEMORY, &again), "memory");
	check(segment_builder_finish(builder, arena, &segment), "finish");
	end = now_ns();
	if (!is_selected(bench, &segment))
		return;
	bench->n_measured += segment.count[SEGMENT_ROW];
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
		if (bench->print_columns)
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
	double n_rows = (double)MAX(bench->n_measured, UINT64_C(1));
	double n_all = (double)MAX(bench->n_rows, UINT64_C(1));
	const struct {
		const char *name;
		double value;
		const char *unit;
	} rows[] = {
		{ "samples", n_rows, "samples" },
		{ "segments", (double)figures->n_segments, "segments" },
		{ "wire_bytes", (double)bench->batch_bytes / n_all, "bytes/sample" },
		{ "bytes", (double)figures->bytes / n_rows, "bytes/sample" },
		{ "rollup_bytes", (double)figures->rollup_bytes / n_rows, "bytes/sample" },
		{ "collect_ns", (double)bench->collect_ns / n_all, "ns/sample" },
		{ "collect_known_ns", (double)bench->known_ns / n_all, "ns/sample" },
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
	struct head_segment segment;
	struct figures figures = {};

	parse_options(&bench, argc, argv);
	check(head_new(
		      &(struct head_options){ .slots_per_segment = bench.minutes * SLOTS_PER_MINUTE,
					      .max_bytes = SEGMENT_MEMORY,
					      .max_numbers_bytes = SEGMENT_MEMORY,
					      .max_agents = 1000 },
		      &bench.head),
	      "head");
	for (int i = optind; i < argc; i++)
		bench.collect_ns += read_batch(&bench, argv[i], false);
	while (head_take(bench.head, UINT64_MAX, &segment) > 0) {
		measure(&bench, segment.builder, &codec, &figures);
		(void)segment_builder_free(segment.builder);
	}
	measure_known(&bench, argv + optind, argc - optind);
	report(&bench, &figures);
	(void)head_free(bench.head);
	return 0;
}
