/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the values of columns as protobuf-c reads them, as examples of proto/batch.proto. */
#include "agent/wire/batch_encoder.h"
#include "common/limits.h"
#include "common/zstd_frame.h"
#include "proto/batch.pb-c.h"
#include "tests/support/unit.h"

static Hearth__V1__Batch *encode_and_unpack(struct window *window)
{
	scoped(bytes_release) struct bytes batch = BYTES_INIT(BATCH_MAX_COMPRESSED_BYTES);
	scoped(bytes_release) struct bytes plain = BYTES_INIT(BATCH_MAX_BYTES);
	Hearth__V1__Batch *message;
	size_t plain_bytes;

	window->host.name = "host";
	assert_ok(batch_encode(window, &batch, &plain_bytes));
	assert_ok(zstd_decompress(bytes_view_of(&batch), &plain));
	assert_int_equal(plain.size, plain_bytes);
	message = hearth__v1__batch__unpack(NULL, plain.size, plain.data);
	assert_non_null(message);
	return message;
}

#define assert_column(count, column, ...)                                                          \
	do {                                                                                       \
		const __typeof__(*(column)) expected_[] = { __VA_ARGS__ };                         \
		assert_int_equal((count), ARRAY_SIZE(expected_));                                  \
		assert_memory_equal((column), expected_, sizeof(expected_));                       \
	} while (0)

static void stacks_share_their_outermost_frames_and_addresses_are_differences(void **state)
{
	static const struct window_frame first[] = {
		{ .kind = FRAME_NATIVE, .object = 2, .address = 0x500 },
		{ .kind = FRAME_NATIVE, .object = 2, .address = 0x400 },
		{ .kind = FRAME_NATIVE, .object = 1, .address = 0x1000 },
	};
	static const struct window_frame second[] = {
		{ .kind = FRAME_KERNEL, .object = 2, .address = 0x30 },
		{ .kind = FRAME_NATIVE, .object = 2, .address = 0x480 },
		{ .kind = FRAME_NATIVE, .object = 1, .address = 0x1000 },
	};
	static const struct window_frame third[] = {
		{ .kind = FRAME_NATIVE, .object = 2, .address = 0x400 },
		{ .kind = FRAME_NATIVE, .object = 1, .address = 0x1000 },
	};
	struct window_stack stacks[] = {
		{ .number = 7, .n_frames = 3, .frames = first },
		{ .number = 9, .n_frames = 3, .frames = second, .cut = STACK_CUT_DEPTH },
		{ .number = 8, .n_frames = 2, .frames = third },
		{ .number = 3, .n_frames = 0 },
	};
	struct window window = { .stacks = stacks, .n_stacks = ARRAY_SIZE(stacks) };
	Hearth__V1__Batch *batch = encode_and_unpack(&window);
	const Hearth__V1__StackTable *table = batch->stacks;

	(void)state;
	assert_column(table->n_number, table->number, 3, 8, 7, 9);
	assert_column(table->n_shared, table->shared, 0, 0, 2, 1);
	assert_column(table->n_n_frames, table->n_frames, 0, 2, 1, 2);
	assert_column(table->n_cut, table->cut, 0, 0, 0, STACK_CUT_DEPTH);
	assert_column(table->n_space_kind, table->space_kind, FRAME_NATIVE, FRAME_NATIVE,
		      FRAME_KERNEL);
	assert_column(table->n_space_executable, table->space_executable, 1, 2, 2);
	assert_int_equal(table->n_space_code_object, 0);
	assert_column(table->n_frame_space, table->frame_space, 0, 1, 1, 1, 2);
	assert_int_equal(table->n_frame_kind_executable, 0);
	assert_column(table->n_frame_address, table->frame_address, 0x1000, 0x400, 0x100, -0x80,
		      0x30);
	hearth__v1__batch__free_unpacked(batch, NULL);
}

static void addresses_that_are_far_apart_wrap_around(void **state)
{
	static const struct window_frame frames[] = {
		{ .kind = FRAME_NATIVE, .address = 1 },
		{ .kind = FRAME_NATIVE, .address = UINT64_MAX },
	};
	struct window_stack stack = { .number = 1, .n_frames = 2, .frames = frames };
	struct window window = { .stacks = &stack, .n_stacks = 1 };
	Hearth__V1__Batch *batch = encode_and_unpack(&window);

	(void)state;
	assert_column(batch->stacks->n_frame_address, batch->stacks->frame_address, -1, 2);
	hearth__v1__batch__free_unpacked(batch, NULL);
}

static void rows_are_sorted_and_joined_and_stored_as_differences(void **state)
{
	struct window_row rows[] = {
		{ .series = 5, .slot = 1000, .stack = 2, .value = 1 },
		{ .series = 3, .slot = 1010, .stack = 1, .value = 2 },
		{ .series = 3, .slot = 1004, .stack = 9, .value = 1 },
		{ .series = 5, .slot = 1000, .stack = 2, .value = 4 },
		{ .series = 5, .slot = 1000, .stack = 1, .value = 1 },
	};
	struct window window = { .rows = rows, .n_rows = ARRAY_SIZE(rows) };
	Hearth__V1__Batch *batch = encode_and_unpack(&window);

	(void)state;
	assert_int_equal(batch->rows->first_slot, 1000);
	assert_column(batch->rows->n_series, batch->rows->series, 3, 0, 2, 0);
	assert_column(batch->rows->n_slot, batch->rows->slot, 4, 6, -10, 0);
	assert_column(batch->rows->n_stack, batch->rows->stack, 9, 1, 1, 2);
	assert_column(batch->rows->n_value, batch->rows->value, 1, 2, 1, 5);
	hearth__v1__batch__free_unpacked(batch, NULL);
}

static void values_are_omitted_if_all_are_one(void **state)
{
	struct window_row rows[] = {
		{ .series = 1, .slot = 7, .stack = 1, .value = 1 },
		{ .series = 1, .slot = 8, .stack = 1, .value = 1 },
	};
	struct window window = { .rows = rows, .n_rows = ARRAY_SIZE(rows) };
	Hearth__V1__Batch *batch = encode_and_unpack(&window);

	(void)state;
	assert_int_equal(batch->rows->n_value, 0);
	assert_int_equal(batch->rows->n_stack, 2);
	hearth__v1__batch__free_unpacked(batch, NULL);
}

static void equal_texts_are_stored_once(void **state)
{
	static const struct window_label labels[] = { { "zone", "eu" }, { "team", "eu" } };
	struct window_process processes[] = {
		{ .number = 1,
		  .name = "nginx",
		  .executable_path = "/nginx",
		  .labels = labels,
		  .n_labels = 2 },
		{ .number = 2,
		  .name = "nginx",
		  .executable_path = "",
		  .labels = labels,
		  .n_labels = 1 },
	};
	static const char *const expected[] = { "", "nginx", "/nginx", "zone", "eu", "team" };
	struct window window = { .processes = processes, .n_processes = 2 };
	Hearth__V1__Batch *batch = encode_and_unpack(&window);

	(void)state;
	assert_int_equal(batch->n_strings, ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		assert_string_equal(batch->strings[i], expected[i]);
	assert_column(batch->processes[0]->n_label_value, batch->processes[0]->label_value, 4, 4);
	assert_int_equal(batch->processes[1]->name, 1);
	assert_int_equal(batch->processes[1]->executable_path, 0);
	hearth__v1__batch__free_unpacked(batch, NULL);
}

static void frames_in_code_objects_have_spaces_of_their_own(void **state)
{
	static const struct window_frame frames[] = {
		{ .kind = FRAME_KERNEL_CODE, .object = FRAME_CODE_OBJECT | 2 },
		{ .kind = FRAME_PYTHON, .object = FRAME_CODE_OBJECT | 1, .address = 40 },
		{ .kind = FRAME_PYTHON, .object = FRAME_CODE_OBJECT | 1, .address = 44 },
		{ .kind = FRAME_NATIVE, .object = 1, .address = 0x1000 },
	};
	const struct code_object object = {
		.number = 1,
		.content = { .language = "python",
			     .function = "step",
			     .first_line = 17,
			     .line_table = { (const uint8_t *)"\1\2", 2 } },
	};
	const struct code_object *const objects[] = { &object };
	struct window_stack stack = { .number = 1, .n_frames = 4, .frames = frames };
	struct window window = {
		.stacks = &stack, .n_stacks = 1, .code_objects = objects, .n_code_objects = 1
	};
	Hearth__V1__Batch *batch = encode_and_unpack(&window);

	(void)state;
	assert_column(batch->stacks->n_space_kind, batch->stacks->space_kind, FRAME_NATIVE,
		      FRAME_PYTHON, FRAME_KERNEL_CODE);
	assert_column(batch->stacks->n_space_executable, batch->stacks->space_executable, 1, 0, 0);
	assert_column(batch->stacks->n_space_code_object, batch->stacks->space_code_object, 0, 1,
		      2);
	assert_column(batch->stacks->n_frame_space, batch->stacks->frame_space, 0, 1, 1, 2);
	assert_column(batch->stacks->n_frame_address, batch->stacks->frame_address, 0x1000, 44, -4,
		      0);
	assert_int_equal(batch->n_code_objects, 1);
	assert_string_equal(batch->strings[batch->code_objects[0]->function], "step");
	assert_int_equal(batch->code_objects[0]->first_line, 17);
	assert_int_equal(batch->code_objects[0]->line_table.len, 2);
	hearth__v1__batch__free_unpacked(batch, NULL);
}

static void each_event_type_of_the_series_is_described_once(void **state)
{
	static const struct window_label labels[] = { { "device", "gpu0" } };
	const struct window_series series[] = {
		{ .number = 1, .process = 1, .type = EVENT_OFF_CPU },
		{ .number = 2,
		  .process = 1,
		  .type = EVENT_MEM_INUSE,
		  .labels = labels,
		  .n_labels = 1 },
		{ .number = 3, .process = 1, .type = EVENT_OFF_CPU },
	};
	struct window window = { .series = series, .n_series = ARRAY_SIZE(series) };
	Hearth__V1__Batch *batch = encode_and_unpack(&window);

	(void)state;
	assert_int_equal(batch->format, 2);
	assert_int_equal(batch->n_event_types, 2);
	assert_string_equal(batch->strings[batch->event_types[0]->name], "off-cpu");
	assert_string_equal(batch->strings[batch->event_types[0]->unit], "ns");
	assert_int_equal(batch->event_types[0]->kind, EVENT_VALUE_TIME);
	assert_string_equal(batch->strings[batch->event_types[1]->name], "mem-inuse");
	assert_int_equal(batch->event_types[1]->kind, EVENT_VALUE_STATE);
	assert_int_equal(batch->series[0]->event_type, 1);
	assert_int_equal(batch->series[1]->event_type, 2);
	assert_int_equal(batch->series[2]->event_type, 1);
	assert_int_equal(batch->series[1]->n_label_name, 1);
	assert_string_equal(batch->strings[batch->series[1]->label_value[0]], "gpu0");
	hearth__v1__batch__free_unpacked(batch, NULL);
}

static void numbers_out_of_range_are_refused(void **state)
{
	static const struct window_frame without_kind = { .object = 1, .address = 1 };
	struct window_stack stack = { .number = 1, .n_frames = 1, .frames = &without_kind };
	struct window_row rows[] = {
		{ .series = 1, .slot = 1, .value = 1 },
		{ .series = 1, .slot = UINT64_C(1) << 40, .value = 1 },
	};
	struct window with_stack = { .stacks = &stack, .n_stacks = 1 };
	struct window with_rows = { .rows = rows, .n_rows = 2 };
	struct bytes batch = BYTES_INIT(BATCH_MAX_COMPRESSED_BYTES);
	size_t plain_bytes;

	(void)state;
	assert_errno(batch_encode(&with_stack, &batch, &plain_bytes), -ERANGE);
	assert_errno(batch_encode(&with_rows, &batch, &plain_bytes), -ERANGE);
	assert_int_equal(batch.size, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_share_their_outermost_frames_and_addresses_are_differences),
		cmocka_unit_test(addresses_that_are_far_apart_wrap_around),
		cmocka_unit_test(rows_are_sorted_and_joined_and_stored_as_differences),
		cmocka_unit_test(values_are_omitted_if_all_are_one),
		cmocka_unit_test(equal_texts_are_stored_once),
		cmocka_unit_test(frames_in_code_objects_have_spaces_of_their_own),
		cmocka_unit_test(each_event_type_of_the_series_is_described_once),
		cmocka_unit_test(numbers_out_of_range_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
