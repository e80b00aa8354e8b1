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

SPOIL(format, m->format = 2)
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
	{ spoil_format, "format 2" },
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

static void each_invalid_field_is_named_with_its_index(void **state)
{
	scoped(arena_freep) struct arena *arena = NULL;

	(void)state;
	assert_ok(arena_new(BATCH_MAX_DECODED_BYTES, &arena));
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		scoped(batch_builder_freep) struct batch_builder *builder = small_batch();
		Hearth__V1__Batch *message = batch_builder_message(builder);
		char reason[DECODE_MESSAGE_SIZE];
		struct batch batch;

		lies[i].spoil(message);
		arena_clear(arena);
		assert_errno(decode_message(message, arena, &batch, reason), -EBADMSG);
		if (!strstr(reason, lies[i].names))
			fail_msg("'%s' does not mention '%s'", reason, lies[i].names);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_invalid_field_is_named_with_its_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
