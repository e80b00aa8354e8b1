/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/store/segment/segment_fixture.h"

#include <inttypes.h>

/* splitmix64 */
uint64_t model_random(uint64_t *random)
{
	uint64_t x = *random += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static uint64_t below(uint64_t *random, uint64_t limit)
{
	return model_random(random) % limit;
}

void model_add_random(struct model *model, uint64_t *random, size_t count, const uint64_t slots[2])
{
	for (size_t i = 0; i < count; i++) {
		struct model_row row = {
			.host = (unsigned int)below(random, 3),
			.process = (unsigned int)below(random, 5),
			.thread = (unsigned int)below(random, 3),
			.slot = slots[0] + below(random, slots[1] - slots[0]),
			.value = below(random, 4) ? 1 : below(random, 1u << 20),
			.with_stack = below(random, 10) > 0,
		};

		if (row.with_stack) {
			row.cut = below(random, 8) == 0;
			row.n_frames = (unsigned int)below(random, MODEL_MAX_FRAMES + 1);
		}
		/* Few values near the root, many at the leaf, as in real stacks. */
		for (unsigned int k = 0; k < row.n_frames; k++)
			row.frames[k] = k * 1000 + below(random, 1 + k * 3);
		assert_ok(vec_push(model, row));
	}
}

uint64_t model_value(const struct model_row *row)
{
	return row->thread % 2 ? row->value : row->value * MODEL_PERIOD_NS;
}

static uint64_t add_text(struct segment_builder *builder, const char *prefix, uint64_t number)
{
	char text[64];
	uint64_t row;
	int length = snprintf(text, sizeof(text), "%s%" PRIu64, prefix, number);

	assert_ok(segment_builder_text(builder, text, (size_t)length, &row));
	return row;
}

static uint64_t add(struct segment_builder *builder, enum segment_table table,
		    const uint64_t *values)
{
	uint64_t row;

	assert_ok(segment_builder_add(builder, table, values, &row));
	return row;
}

void builder_add_head(struct segment_builder *builder, const char *service,
		      enum event_value_kind kind)
{
	uint64_t name;

	assert_ok(segment_builder_text(builder, service, strlen(service), &name));
	(void)add(builder, SEGMENT_HEAD,
		  (uint64_t[]){ SEGMENT_SAMPLES, add_text(builder, "tenant", 1), name,
				add_text(builder, "event", 1), add_text(builder, "ns", 0), kind });
}

static uint64_t add_object(struct segment_builder *builder, uint64_t number)
{
	return add(builder, SEGMENT_OBJECT,
		   (uint64_t[]){ 1, add_text(builder, "id", number),
				 add_text(builder, "lib", number), 0, 0 });
}

/* Row of SERIES + 1. */
static uint64_t add_series(struct segment_builder *builder, const struct model_row *row)
{
	uint64_t label = 1 + add(builder, SEGMENT_LABEL,
				 (uint64_t[]){ 0, add_text(builder, "name", 1),
					       add_text(builder, "value", row->host) });
	uint64_t labels = 1 + add(builder, SEGMENT_LABEL,
				  (uint64_t[]){ label, add_text(builder, "name", 2),
						add_text(builder, "value", row->process) });
	uint64_t host = add(builder, SEGMENT_HOST,
			    (uint64_t[]){ add_text(builder, "host", row->host),
					  add_text(builder, "name", row->host), label });
	uint64_t object = add_object(builder, row->process);
	uint64_t path =
		1 + add(builder, SEGMENT_PATH,
			(uint64_t[]){ 0, object, add_text(builder, "/bin/", row->process) });
	uint64_t process = add(builder, SEGMENT_PROCESS,
			       (uint64_t[]){ host, 100000000 * (uint64_t)(7 - row->process),
					     100 + row->process, 1, add_text(builder, "web", 0),
					     add_text(builder, "/bin/", row->process), object + 1,
					     0, path, labels });

	return 1 + add(builder, SEGMENT_SERIES,
		       (uint64_t[]){ process, 100 + row->process + row->thread,
				     add_text(builder, "thread", row->thread), 0,
				     row->thread % 2 ? 0 : MODEL_PERIOD_NS, 0 });
}

/* 0, or row of STACK + 1. */
static uint64_t add_stack(struct segment_builder *builder, const struct model_row *row)
{
	uint64_t node = 0;

	if (!row->with_stack)
		return 0;
	for (unsigned int i = 0; i < row->n_frames; i++) {
		uint64_t object = 1 + add_object(builder, row->frames[i] / 1000);
		uint64_t frame = add(builder, SEGMENT_FRAME,
				     (uint64_t[]){ 1 + row->frames[i] % 2, object,
						   0x400000 + row->frames[i] * 16 });

		node = 1 + add(builder, SEGMENT_NODE, (uint64_t[]){ node, frame });
	}
	return 1 + add(builder, SEGMENT_STACK, (uint64_t[]){ node, row->cut });
}

struct segment_builder *builder_of(const struct model *model, enum event_value_kind kind)
{
	struct segment_builder *builder;

	assert_ok(segment_builder_new(&builder));
	builder_add_head(builder, "web", kind);
	for (size_t i = 0; i < model->count; i++) {
		const struct model_row *row = &model->items[i];

		(void)add(builder, SEGMENT_ROW,
			  (uint64_t[]){ add_series(builder, row), row->slot,
					add_stack(builder, row), row->value });
	}
	return builder;
}

struct segment segment_of(const struct model *model, struct arena *arena)
{
	scoped(segment_builder_freep) struct segment_builder *builder =
		builder_of(model, EVENT_VALUE_TIME);
	struct segment segment;

	assert_ok(segment_builder_finish(builder, arena, &segment));
	return segment;
}

struct segment reread(const struct segment *segment, struct arena *arena)
{
	scoped(segment_codec_release) struct segment_codec codec = {};
	scoped(bytes_release) struct bytes bytes = BYTES_INIT(64 * MIB);
	struct segment decoded;

	assert_ok(segment_encode(segment, &codec, &bytes));
	assert_ok(segment_decode(bytes_view_of(&bytes), SEGMENT_ALL, &codec, arena, &decoded));
	return decoded;
}

void assert_segments_equal(const struct segment *a, const struct segment *b)
{
	static const enum segment_table table_of[] = {
#define TABLE(table)
#define COLUMN(table, column, coding, reference, target) [table##_##column] = SEGMENT_##table,
#include "symbolizer/store/segment/segment_tables.def"
#undef TABLE
#undef COLUMN
	};

	assert_memory_equal(a->count, b->count, sizeof(a->count));
	for (unsigned int i = 0; i < SEGMENT_COLUMN_COUNT; i++) {
		if (a->count[table_of[i]] > 0)
			assert_memory_equal(a->column[i], b->column[i],
					    a->count[table_of[i]] * sizeof(uint64_t));
	}
	assert_int_equal(a->text_bytes, b->text_bytes);
	assert_memory_equal(a->texts, b->texts, a->text_bytes);
}

static uint64_t combine(uint64_t key, uint64_t value)
{
	uint64_t parts[] = { key, value };

	return hash64_of(parts, sizeof(parts));
}

uint64_t model_stack_key(const struct model_row *row)
{
	uint64_t key = row->with_stack ? 1 + row->cut : 0;

	for (unsigned int i = row->n_frames; i > 0; i--)
		key = combine(key, row->frames[i - 1]);
	return key;
}

uint64_t segment_stack_key(const struct segment *segment, uint64_t stack)
{
	uint64_t key = stack ? 1 + segment->column[STACK_CUT][stack - 1] : 0;
	uint64_t node = stack ? segment->column[STACK_NODE][stack - 1] : 0;

	for (; node; node = segment->column[NODE_PARENT][node - 1]) {
		uint64_t frame = segment->column[NODE_FRAME][node - 1];
		uint64_t number = (segment->column[FRAME_POSITION][frame] - 0x400000) / 16;
		uint64_t object = segment->column[FRAME_OBJECT][frame];
		struct bytes_view id;
		char text[64];

		assert_int_equal(segment->column[FRAME_KIND][frame], 1 + number % 2);
		assert_true(object > 0);
		id = segment_text(segment, segment->column[OBJECT_ID][object - 1]);
		(void)snprintf(text, sizeof(text), "id%" PRIu64, number / 1000);
		assert_bytes_equal_text(&id, text);
		key = combine(key, number);
	}
	return key;
}

static int compare_keys(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static uint64_t text_number(const struct segment *segment, uint64_t text, size_t prefix_size)
{
	struct bytes_view view = segment_text(segment, text);
	char digits[32] = "";

	assert_in_range(view.size, prefix_size + 1, prefix_size + sizeof(digits) - 1);
	memcpy(digits, view.data + prefix_size, view.size - prefix_size);
	return strtoull(digits, NULL, 10);
}

static uint64_t row_key(const struct segment *segment, size_t row)
{
	uint64_t series = segment->column[ROW_SERIES][row] - 1;
	uint64_t process = segment->column[SERIES_PROCESS][series];
	uint64_t host = segment->column[PROCESS_HOST][process];
	uint64_t number = segment->column[PROCESS_PID][process] - 100;
	uint64_t thread = segment->column[SERIES_TID][series] - 100 - number;
	uint64_t key = text_number(segment, segment->column[HOST_ID][host], strlen("host"));

	assert_int_equal(segment->column[PROCESS_START_TIME_NS][process], 100000000 * (7 - number));
	assert_int_equal(segment->column[SERIES_PERIOD_NS][series],
			 thread % 2 ? 0 : MODEL_PERIOD_NS);
	assert_int_equal(
		text_number(segment, segment->column[SERIES_THREAD_NAME][series], strlen("thread")),
		thread);
	key = combine(combine(key, number), thread);
	key = combine(key, segment_stack_key(segment, segment->column[ROW_STACK][row]));
	return combine(combine(key, segment->column[ROW_SLOT][row]),
		       segment->column[ROW_VALUE][row]);
}

static uint64_t model_key(const struct model_row *row)
{
	uint64_t key = combine(combine(row->host, row->process), row->thread);

	key = combine(key, model_stack_key(row));
	return combine(combine(key, row->slot), row->value);
}

void assert_has_rows(const struct segment *segment, const struct model *model)
{
	size_t count = model->count;
	scoped_free uint64_t *expected = calloc(count + 1, sizeof(*expected));
	scoped_free uint64_t *got = calloc(count + 1, sizeof(*got));

	assert_int_equal(segment->count[SEGMENT_ROW], count);
	for (size_t i = 0; i < count; i++) {
		expected[i] = model_key(&model->items[i]);
		got[i] = row_key(segment, i);
	}
	qsort(expected, count, sizeof(*expected), compare_keys);
	qsort(got, count, sizeof(*got), compare_keys);
	assert_memory_equal(expected, got, count * sizeof(*got));
}
