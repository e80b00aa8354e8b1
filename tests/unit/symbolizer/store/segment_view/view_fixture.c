/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/store/segment_view/view_fixture.h"

#include "symbolizer/store/segment/segment_layout.h"

#include <inttypes.h>

int view_setup(void **state)
{
	struct view_test *test = calloc(1, sizeof(*test));
	struct segment_view_options options = { .max_part_bytes = 64 * MIB, .max_bytes = 64 * MIB };

	assert_non_null(test);
	options.store = (struct store_view_options){ .tenant = "tenant1", .cancel = &test->cancel };
	test->arena = new_arena();
	assert_ok(segment_view_new(&options, &test->view));
	*state = test;
	return 0;
}

int view_teardown(void **state)
{
	struct view_test *test = *state;

	(void)segment_view_free(test->view);
	(void)arena_free(test->arena);
	vec_release(&test->all);
	free(test);
	return 0;
}

struct bytes_view encode(const struct segment *segment, struct arena *arena)
{
	scoped(segment_codec_release) struct segment_codec codec = {};
	scoped(bytes_release) struct bytes bytes = BYTES_INIT(64 * MIB);
	uint8_t *copy;

	assert_ok(segment_encode(segment, &codec, &bytes));
	copy = arena_copy(arena, bytes.data, bytes.size);
	assert_non_null(copy);
	return (struct bytes_view){ copy, bytes.size };
}

/* As earlier versions encoded a segment of samples: the byte of the format has no checksum. */
static struct bytes_view encode_format_1(const struct segment *segment, struct arena *arena)
{
	struct segment old = *segment;
	struct bytes_view bytes;

	old.count[SEGMENT_TOTAL] = 0;
	bytes = encode(&old, arena);
	((uint8_t *)(uintptr_t)bytes.data)[SEGMENT_MAGIC_BYTES] = 1;
	return bytes;
}

void view_add_segment(struct view_test *test, const struct segment *segment,
		      const struct segment_part *part)
{
	struct segment_part added = *part;

	added.bytes = encode(segment, test->arena);
	assert_ok(segment_view_add(test->view, &added));
}

void view_add_model(struct view_test *test, const struct model *model, enum part_form form,
		    const struct segment_part *flags)
{
	struct segment_part part = flags ? *flags : (struct segment_part){};
	struct segment *segment = arena_alloc(test->arena, sizeof(*segment));

	assert_non_null(segment);
	*segment = segment_of(model, test->arena);
	part.first_slot = UINT64_MAX;
	for (size_t i = 0; i < model->count; i++) {
		part.first_slot = MIN(part.first_slot, model->items[i].slot);
		part.end_slot = MAX(part.end_slot, model->items[i].slot + 1);
		assert_ok(vec_push(&test->all, model->items[i]));
	}
	part.decoded = form == PART_DECODED ? segment : NULL;
	if (form == PART_ENCODED)
		part.bytes = encode(segment, test->arena);
	if (form == PART_OLD)
		part.bytes = encode_format_1(segment, test->arena);
	assert_ok(segment_view_add(test->view, &part));
}

unsigned int process_number(const struct store_series *series)
{
	return series->process->pid - 100;
}

unsigned int thread_number(const struct store_series *series)
{
	return series->tid - series->process->pid;
}

unsigned int host_number(const struct store_series *series)
{
	assert_memory_equal(series->process->host->name, "name", 4);
	return (unsigned int)strtoul(series->process->host->name + 4, NULL, 10);
}

void view_select(struct view_test *test, const uint64_t range[2])
{
	const struct store_series_query query = { .service = "web",
						  .from_slot = range[0],
						  .to_slot = range[1] };

	assert_ok(segment_view_find_series(test->view, &query, test->arena, &test->series,
					   &test->n_series));
	test->selected = arena_alloc_array(test->arena, test->n_series, sizeof(*test->selected));
	assert_non_null(test->selected);
	test->n_selected = 0;
	for (size_t i = 0; i < test->n_series; i++) {
		const struct store_series *series = &test->series[i];

		assert_true(i == 0 || series->id > test->series[i - 1].id);
		if (process_number(series) == UNSELECTED_PROCESS)
			continue;
		test->selected[test->n_selected++] = (struct store_sum_series){
			.id = series->id,
			.factor = series->period_ns ? series->period_ns : 1,
			.group = process_number(series),
			.marked = host_number(series) == 1,
		};
	}
}

static uint64_t combine(uint64_t key, uint64_t value)
{
	uint64_t parts[] = { key, value };

	return hash64_of(parts, sizeof(parts));
}

uint64_t view_stack_key(const struct view_test *test, uint64_t stack)
{
	scoped(arena_freep) struct arena *arena = new_arena();
	struct store_stack loaded;
	uint64_t key;

	assert_ok(segment_view_load_stacks(test->view, &stack, 1, arena, &loaded));
	key = stack ? 1 + loaded.cut : 0;
	for (uint32_t i = 0; i < loaded.n_frames; i++) {
		const struct store_frame *frame = &loaded.frames[i];
		uint64_t number = (frame->address - 0x400000) / 16;
		struct store_executable executable;
		char name[32];

		(void)snprintf(name, sizeof(name), "lib%" PRIu64, number / 1000);
		assert_ok(segment_view_load_executables(test->view, &frame->object, 1, arena,
							&executable));
		assert_string_equal(executable.name, name);
		assert_int_equal(frame->kind, 1 + number % 2);
		key = combine(key, number);
	}
	return key;
}

struct expected_key {
	uint64_t group, stack_key;
};

struct expected_sum {
	uint64_t value, last_slot;
};

struct expected {
	struct hash_table *sums; /* struct expected_key -> struct expected_sum */
	uint64_t n_rows, marked_value;
};

/* Of a sum by steps: the number of the step. */
static uint64_t expected_stack_key(const struct store_sum_query *query, const struct model_row *row)
{
	if (query->step_slots)
		return (row->slot - query->from_slot) / query->step_slots;
	return query->without_stacks ? 0 : model_stack_key(row);
}

static void add_expected(struct expected *expected, const struct store_sum_query *query,
			 const struct model_row *row)
{
	const struct expected_key key = { row->process, expected_stack_key(query, row) };
	const bool only_last = query->policy == STORE_SUM_LAST;
	struct expected_sum *sum;

	if (row->process == UNSELECTED_PROCESS || row->slot < query->from_slot ||
	    row->slot >= query->to_slot)
		return;
	expected->n_rows++;
	expected->marked_value += row->host == 1 ? model_value(row) : 0;
	if (row->value == 0 && !only_last)
		return;
	assert_ok(hash_table_insert(expected->sums, &key, (void **)&sum));
	if (only_last && row->slot > sum->last_slot)
		sum->value = 0;
	if (!only_last || row->slot >= sum->last_slot)
		sum->value += model_value(row);
	sum->last_slot = MAX(sum->last_slot, row->slot);
}

void assert_view_sums(const struct view_test *test, const struct store_sum_query *query)
{
	struct expected expected = {};
	struct store_sums sums;
	uint64_t range[2];

	assert_ok(hash_table_new(sizeof(struct expected_key), sizeof(struct expected_sum), 0,
				 &expected.sums));
	for (size_t i = 0; i < test->all.count; i++)
		add_expected(&expected, query, &test->all.items[i]);
	assert_ok(segment_view_sum(test->view, query, &sums, range));
	assert_true(range[0] == query->from_slot && range[1] == query->to_slot);
	assert_int_equal(sums.count, hash_table_count(expected.sums));
	for (size_t i = 0; i < sums.count; i++) {
		const struct store_sum *item = &sums.items[i];
		const struct expected_key key = {
			item->group,
			query->step_slots ? item->stack : view_stack_key(test, item->stack),
		};
		const struct expected_sum *sum = hash_table_find(expected.sums, &key);

		assert_non_null(sum);
		assert_true(sum->value == item->value);
		if (query->last_slots || query->policy == STORE_SUM_LAST)
			assert_true(sum->last_slot == item->last_slot);
	}
	assert_true(sums.marked_value == expected.marked_value);
	assert_int_equal(sums.n_damaged_blocks, 0);
	store_sums_release(&sums);
	(void)hash_table_free(expected.sums);
}
