/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include "tests/unit/symbolizer/ingest/small_batch.h"

/*
 * Batches with one invalid field each: the decoder refuses them and names the field.
 */

/* Each sets one field to an invalid value. */
typedef void (*spoil_function)(Hearth__V1__Batch *message);

#define SPOIL(name, ...)                                                                           \
	static void spoil_##name(Hearth__V1__Batch *m)                                             \
	{                                                                                          \
		__VA_ARGS__;                                                                       \
	}

SPOIL(format, m->format = 0)
SPOIL(agent_id, m->agent_id.len = 15)
SPOIL(epoch, m->epoch = 0)
SPOIL(sequence, m->sequence = UINT64_MAX)
SPOIL(clocks, m->opened_monotonic_ns = m->closed_monotonic_ns + 1)
SPOIL(long_batch, m->opened_monotonic_ns = m->closed_monotonic_ns - 8 * 24 * 3600 * NSEC_PER_SEC)
SPOIL(wall_clock, m->closed_wall_ns = 5)
SPOIL(far_future, m->closed_wall_ns = UINT64_MAX)
SPOIL(no_host, m->host = NULL)
SPOIL(first_string, m->strings[0] = m->strings[1])
SPOIL(executable_number, m->executables[0]->number = 0)
SPOIL(id_kind, m->executables[0]->id_kind = 9)
SPOIL(id_size, m->executables[0]->id.len = 2)
SPOIL(role, m->executables[0]->role = 4)
SPOIL(executable_name, m->executables[1]->name = 100000)
SPOIL(segment_columns, m->executables[0]->n_segment_vaddr = 1)
SPOIL(segment_sizes, m->executables[0]->n_segment_file_size = 0)
SPOIL(segment_wraps, m->executables[0]->segment_file_size[0] = UINT64_MAX)
SPOIL(process_number, m->processes[0]->number = 0)
SPOIL(process_name, m->processes[0]->name = UINT32_MAX)
SPOIL(process_start, m->processes[0]->start_time_ns = UINT64_MAX)
SPOIL(executable_path, m->processes[0]->executable_path = 77)
SPOIL(path_columns, m->processes[0]->n_path = 0)
SPOIL(path_string, m->processes[0]->path[0] = 99)
SPOIL(path_executable, m->processes[0]->path_executable[0] = 0)
SPOIL(label_columns, m->processes[0]->n_label_value = 0)
SPOIL(label_name, m->processes[0]->label_name[0] = 0)
SPOIL(label_value, m->processes[0]->label_value[0] = 99)
SPOIL(series_number, m->series[1]->number = 0)
SPOIL(series_type, m->series[1]->event_type = EVENT_TYPE_END)
SPOIL(series_no_type, m->series[1]->event_type = 0)
SPOIL(series_process, m->series[0]->process = 0)
SPOIL(series_thread, m->series[0]->thread_name = 1000)
SPOIL(series_cpu, m->series[0]->cpu_plus_one = UINT32_MAX)
SPOIL(series_period, m->series[0]->period_ns = UINT64_MAX)
SPOIL(stack_numbers, m->stacks->n_number = 2)
SPOIL(stack_shared_column, m->stacks->n_shared = 2)
SPOIL(stack_n_frames_column, m->stacks->n_n_frames = 2)
SPOIL(stack_cut_column, m->stacks->n_cut = 2)
SPOIL(frame_columns, m->stacks->n_frame_address--)
SPOIL(frame_kind_column, m->stacks->n_frame_kind_executable--)
SPOIL(stack_number, m->stacks->number[0] = 0)
SPOIL(stack_cut, m->stacks->cut[0] = STACK_CUT_END)
SPOIL(stack_first_shares, m->stacks->shared[0] = 1)
SPOIL(stack_shares_too_much, m->stacks->shared[2] = 4)
SPOIL(stack_deep, m->stacks->n_frames[0] = STACK_MAX_FRAMES + 1)
SPOIL(stack_wraps, m->stacks->n_frames[0] = UINT32_MAX)
SPOIL(stack_lists_more, m->stacks->n_frames[1]++)
SPOIL(frame_kind, m->stacks->frame_kind_executable[0] = 0)
SPOIL(frame_kind_high, m->stacks->frame_kind_executable[0] = 7)
SPOIL(named_with_executable, m->stacks->frame_kind_executable[0] = FRAME_KERNEL_NAMED | 1 << 3)
SPOIL(row_slots, m->rows->n_slot--)
SPOIL(row_stacks, m->rows->n_stack--)
SPOIL(row_series, m->rows->n_series--)
SPOIL(row_values, m->rows->n_value--)
SPOIL(row_series_zero, m->rows->series[0] = 0)
SPOIL(row_series_negative, m->rows->series[0] = INT32_MIN)
SPOIL(row_slot_before, m->rows->slot[0] = -400000)
SPOIL(row_slot_after, m->rows->slot[1] = 502)
SPOIL(row_slot_far, m->rows->first_slot = UINT64_MAX)
SPOIL(row_value_zero, m->rows->value[2] = 0)
SPOIL(row_value_huge, m->rows->value[2] = UINT64_MAX)
SPOIL(row_order, m->rows->stack[1] = 1; m->rows->slot[1] = 0; m->rows->stack[0] = 2)
SPOIL(named_key, m->named_frames[0]->key++)

static const struct {
	spoil_function spoil;
	const char *names; /* text that the message must contain */
} lies[] = {
	{ spoil_format, "format 0" },
	{ spoil_agent_id, "agent_id" },
	{ spoil_epoch, "epoch" },
	{ spoil_sequence, "sequence" },
	{ spoil_clocks, "opened_monotonic_ns" },
	{ spoil_long_batch, "7 days" },
	{ spoil_wall_clock, "closed_wall_ns" },
	{ spoil_far_future, "closed_wall_ns" },
	{ spoil_no_host, "host" },
	{ spoil_first_string, "strings[0]" },
	{ spoil_executable_number, "executables[0].number" },
	{ spoil_id_kind, "executables[0].id" },
	{ spoil_id_size, "executables[0].id" },
	{ spoil_role, "executables[0].role" },
	{ spoil_executable_name, "executables.name of item 1" },
	{ spoil_segment_columns, "executables[0]: segment columns" },
	{ spoil_segment_sizes, "executables[0]: segment columns" },
	{ spoil_segment_wraps, "segment 0" },
	{ spoil_process_number, "processes[0].number" },
	{ spoil_process_name, "processes.name of item 0" },
	{ spoil_process_start, "processes[0].start_time_ns" },
	{ spoil_executable_path, "processes.executable_path" },
	{ spoil_path_columns, "processes[0]: path columns" },
	{ spoil_path_string, "processes.path of item 0" },
	{ spoil_path_executable, "processes[0].path_executable[0]" },
	{ spoil_label_columns, "processes[0]: label columns" },
	{ spoil_label_name, "processes[0].label_name[0]" },
	{ spoil_label_value, "processes.label_value" },
	{ spoil_series_number, "series[1].number" },
	{ spoil_series_type, "series[1].event_type" },
	{ spoil_series_no_type, "series[1].event_type" },
	{ spoil_series_process, "series[0].process" },
	{ spoil_series_thread, "series.thread_name of item 0" },
	{ spoil_series_cpu, "series[0].cpu_plus_one" },
	{ spoil_series_period, "series[0].period_ns" },
	{ spoil_stack_numbers, "stacks: columns" },
	{ spoil_stack_shared_column, "stacks: columns" },
	{ spoil_stack_n_frames_column, "stacks: columns" },
	{ spoil_stack_cut_column, "stacks: columns" },
	{ spoil_frame_columns, "stacks: frame columns" },
	{ spoil_frame_kind_column, "stacks: frame columns" },
	{ spoil_stack_number, "stacks.number[0]" },
	{ spoil_stack_cut, "stacks.cut[0]" },
	{ spoil_stack_first_shares, "stacks.shared[0]" },
	{ spoil_stack_shares_too_much, "stacks.shared[2]" },
	{ spoil_stack_deep, "stacks[0] has" },
	{ spoil_stack_wraps, "stacks[0] has" },
	{ spoil_stack_lists_more, "stacks.n_frames add up" },
	{ spoil_frame_kind, "stacks.frame_kind_executable[0]" },
	{ spoil_frame_kind_high, "stacks.frame_kind_executable[0]" },
	{ spoil_named_with_executable, "stacks.frame_kind_executable[0]" },
	{ spoil_row_slots, "rows: columns" },
	{ spoil_row_stacks, "rows: columns" },
	{ spoil_row_series, "rows: columns" },
	{ spoil_row_values, "values for" },
	{ spoil_row_series_zero, "rows.series[0]" },
	{ spoil_row_series_negative, "rows.series[0]" },
	{ spoil_row_slot_before, "rows.slot[0]" },
	{ spoil_row_slot_after, "rows.slot[1]" },
	{ spoil_row_slot_far, "rows.first_slot" },
	{ spoil_row_value_zero, "rows.value[2]" },
	{ spoil_row_value_huge, "rows.value[2]" },
	{ spoil_row_order, "rows[1] is not sorted" },
	{ spoil_named_key, "named_frames[0].key" },
};

/* Fields that only format 2 has. */
SPOIL(type_name, m->event_types[1]->name = 0)
SPOIL(type_unit, m->event_types[0]->unit = 99)
SPOIL(type_kind, m->event_types[1]->kind = EVENT_VALUE_KIND_END)
SPOIL(type_no_kind, m->event_types[0]->kind = 0)
SPOIL(series_type_index, m->series[1]->event_type = 3)
SPOIL(series_label_columns, m->series[1]->n_label_value = 1)
SPOIL(series_label_name, m->series[1]->label_name[1] = 0)
SPOIL(series_label_value, m->series[1]->label_value[0] = 99)
SPOIL(series_label_twice, m->series[1]->label_name[0] = m->series[1]->label_name[1])
SPOIL(code_number, m->code_objects[1]->number = 0)
SPOIL(code_number_high, m->code_objects[0]->number = FRAME_CODE_OBJECT)
SPOIL(code_language, m->code_objects[0]->language = 99)
SPOIL(code_function, m->code_objects[1]->function = 99)
SPOIL(code_file, m->code_objects[0]->file = 99)
/* The packer reads as many bytes as the length says. */
static uint8_t long_line_table[MAX_LINE_TABLE_BYTES + 1];
SPOIL(code_lines, m->code_objects[0]->line_table = (ProtobufCBinaryData){
			  .len = sizeof(long_line_table), .data = long_line_table })
SPOIL(space_columns, m->stacks->n_space_executable--)
SPOIL(space_code_column, m->stacks->n_space_code_object--)
SPOIL(space_no_kind, m->stacks->space_kind[0] = 0)
SPOIL(space_kind_high, m->stacks->space_kind[0] = FRAME_KIND_MAX + 1)
SPOIL(space_executable_high, m->stacks->space_executable[0] = FRAME_CODE_OBJECT)
SPOIL(space_both, m->stacks->space_executable[4] = 1)
SPOIL(space_anonymous, m->stacks->space_executable[0] = 1)
SPOIL(space_native_code, m->stacks->space_executable[1] = 0; m->stacks->space_code_object[1] = 1)
SPOIL(frame_space, m->stacks->frame_space[2] = (uint32_t)m->stacks->n_space_kind)
SPOIL(frame_space_column, m->stacks->n_frame_space--)
SPOIL(value_high, m->rows->value[1] = UINT64_C(1) << 54)

static Hearth__V1__Context context = HEARTH__V1__CONTEXT__INIT;
static Hearth__V1__Context *contexts[] = { &context };
static uint32_t context_of_row[2];

static void add_context(Hearth__V1__Batch *m, size_t trace_bytes, size_t span_bytes)
{
	static uint8_t ids[32];

	context.trace_id = (ProtobufCBinaryData){ .len = trace_bytes, .data = ids };
	context.span_id = (ProtobufCBinaryData){ .len = span_bytes, .data = ids };
	m->contexts = contexts;
	m->n_contexts = 1;
	m->rows->context = context_of_row;
	m->rows->n_context = 2;
	context_of_row[0] = 0;
	context_of_row[1] = 1;
}

SPOIL(trace_id, add_context(m, 15, 8))
SPOIL(span_id, add_context(m, 16, 7))
SPOIL(context_column, add_context(m, 16, 8); m->rows->n_context = 1)
SPOIL(context_index, add_context(m, 16, 8); context_of_row[1] = 2)

static const struct {
	spoil_function spoil;
	const char *names;
} lies_2[] = {
	{ spoil_type_name, "event_types[1].name" },
	{ spoil_type_unit, "event_types.unit of item 0" },
	{ spoil_type_kind, "event_types[1].kind" },
	{ spoil_type_no_kind, "event_types[0].kind" },
	{ spoil_series_type_index, "series[1].event_type" },
	{ spoil_series_no_type, "series[1].event_type" },
	{ spoil_series_process, "series[0].process" },
	{ spoil_series_label_columns, "series[1]: label columns" },
	{ spoil_series_label_name, "series[1].label_name[1]" },
	{ spoil_series_label_value, "series.label_value of item 1" },
	{ spoil_series_label_twice, "series[1] has the label 'device' twice" },
	{ spoil_code_number, "code_objects[1].number" },
	{ spoil_code_number_high, "code_objects[0].number" },
	{ spoil_code_language, "code_objects.language of item 0" },
	{ spoil_code_function, "code_objects.function of item 1" },
	{ spoil_code_file, "code_objects.file of item 0" },
	{ spoil_code_lines, "code_objects[0].line_table" },
	{ spoil_space_columns, "stacks: space columns" },
	{ spoil_space_code_column, "stacks: space columns" },
	{ spoil_space_no_kind, "stacks.space_kind[0]" },
	{ spoil_space_kind_high, "stacks.space_kind[0]" },
	{ spoil_space_executable_high, "space 0 has an object number" },
	{ spoil_space_both, "space 4 has an executable and a code object" },
	{ spoil_space_anonymous, "space 0 is a frame of kind 'anonymous' with an executable" },
	{ spoil_space_native_code, "space 1 is a frame of kind 'native' with a code object" },
	{ spoil_frame_space, "stacks.frame_space[2]" },
	{ spoil_frame_space_column, "stacks: frame columns" },
	{ spoil_frame_columns, "stacks: frame columns" },
	{ spoil_value_high, "rows.value[1]" },
	{ spoil_trace_id, "contexts[0].trace_id" },
	{ spoil_span_id, "contexts[0].span_id" },
	{ spoil_context_column, "1 contexts for 2 rows" },
	{ spoil_context_index, "rows.context[1]" },
};

static void check_lie(struct batch_builder *builder, spoil_function spoil, const char *names)
{
	scoped(arena_freep) struct arena *arena = NULL;
	Hearth__V1__Batch *message = batch_builder_message(builder);
	char reason[DECODE_MESSAGE_SIZE];
	struct batch batch;

	assert_ok(arena_new(BATCH_MAX_DECODED_BYTES, &arena));
	spoil(message);
	assert_errno(decode_message(message, arena, &batch, reason), -EBADMSG);
	if (!strstr(reason, names))
		fail_msg("'%s' does not mention '%s'", reason, names);
}

static void each_invalid_field_is_named_with_its_index(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		scoped(batch_builder_freep) struct batch_builder *builder = small_batch();

		check_lie(builder, lies[i].spoil, lies[i].names);
	}
}

static void each_invalid_field_of_format_2_is_named_with_its_index(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lies_2); i++) {
		scoped(batch_builder_freep) struct batch_builder *builder = small_batch_2();

		check_lie(builder, lies_2[i].spoil, lies_2[i].names);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_invalid_field_is_named_with_its_index),
		cmocka_unit_test(each_invalid_field_of_format_2_is_named_with_its_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
