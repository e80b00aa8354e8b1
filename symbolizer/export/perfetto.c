/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto: a trace of Perfetto (proto/perfetto.proto). A sample is the value of a stack in a
 * thread during a block of the time range, and has the time at which the block begins. The value is
 * the sample's weight, by which the viewer makes flame graphs.
 */

#include <stdlib.h>
#include <string.h>

#include "symbolizer/export/perfetto_tables.h"
#include "symbolizer/query/selection.h"

/* Each block is a read of the store, and adds a sample for each stack that has a value in it. */
#define MAX_BLOCKS 60

#define CLOCK_REALTIME_ID 1
#define CLOCK_BOOTTIME_ID 6

#define UNIT_NANOSECONDS 1
#define UNIT_BYTES       4

/* The flag of the first packet of a sequence with interned data. */
#define BEGINS_INTERNED_DATA 1

struct perfetto_writer {
	const struct export_selection *selection;
	struct perfetto_tables tables;
};

/* Times of the trace are wall-clock times, so that the viewer shows dates. */
static void set_clocks(uint64_t wall_ns, Perfetto__Clock *realtime, Perfetto__Clock *boottime)
{
	realtime->has_clock_id = boottime->has_clock_id = true;
	realtime->has_timestamp = boottime->has_timestamp = true;
	realtime->clock_id = CLOCK_REALTIME_ID;
	boottime->clock_id = CLOCK_BOOTTIME_ID;
	realtime->timestamp = boottime->timestamp = wall_ns;
}

static void set_unit(const struct event_type_info *event, Perfetto__CounterDescriptor *descriptor)
{
	descriptor->name = (char *)event->name;
	if (strcmp(event->unit, "ns") == 0)
		descriptor->unit = UNIT_NANOSECONDS;
	else if (strcmp(event->unit, "bytes") == 0)
		descriptor->unit = UNIT_BYTES;
	else
		descriptor->unit_str = (char *)event->unit;
	descriptor->has_unit = descriptor->unit > 0;
}

static int write_head(struct perfetto_writer *writer)
{
	const struct export_selection *selection = writer->selection;
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__ClockSnapshot snapshot = PERFETTO__CLOCK_SNAPSHOT__INIT;
	Perfetto__Clock realtime = PERFETTO__CLOCK__INIT, boottime = PERFETTO__CLOCK__INIT;
	Perfetto__Clock *clocks[] = { &realtime, &boottime };
	Perfetto__TracePacketDefaults defaults = PERFETTO__TRACE_PACKET_DEFAULTS__INIT;
	Perfetto__StackSampleDefaults samples = PERFETTO__STACK_SAMPLE_DEFAULTS__INIT;
	Perfetto__CounterDescriptor descriptor = PERFETTO__COUNTER_DESCRIPTOR__INIT;
	char source[] = "hearth";

	set_clocks(selection->since_wall_ns, &realtime, &boottime);
	snapshot.n_clocks = ARRAY_SIZE(clocks);
	snapshot.clocks = clocks;
	set_unit(selection->event, &descriptor);
	samples.source = source;
	samples.primary_descriptor = &descriptor;
	defaults.stack_sample_defaults = &samples;
	packet.clock_snapshot = &snapshot;
	packet.trace_packet_defaults = &defaults;
	packet.has_timestamp = true;
	packet.timestamp = selection->since_wall_ns;
	packet.sequence_flags = BEGINS_INTERNED_DATA;
	return perfetto_write(&writer->tables, &packet);
}

static void perfetto_free(void *arg)
{
	struct perfetto_writer *writer = arg;

	if (!writer)
		return;
	perfetto_tables_release(&writer->tables);
	free(writer);
}

static int perfetto_begin(const struct export_selection *selection, struct bytes *out,
			  void **ret_writer)
{
	const bool total = selection->service && strcmp(selection->service, TOTAL_SERVICE) == 0;
	struct perfetto_writer *writer = calloc(1, sizeof(*writer));
	int r;

	if (!writer)
		return -ENOMEM;
	writer->selection = selection;
	r = perfetto_tables_init(&writer->tables, out, total);
	if (r == 0)
		r = write_head(writer);
	if (r < 0)
		perfetto_free(writer);
	else
		*ret_writer = writer;
	return r;
}

/* Returns the begin of a block, at a slot. */
static uint64_t block_wall_ns(const struct export_selection *selection, uint64_t n_blocks,
			      uint32_t block)
{
	const uint64_t range_ns = selection->until_wall_ns - selection->since_wall_ns;
	const uint64_t n_slots = range_ns / SLOT_NS;

	if (n_blocks == 0)
		return selection->since_wall_ns;
	return selection->since_wall_ns +
	       (uint64_t)((__uint128_t)n_slots * block / n_blocks) * SLOT_NS;
}

static int perfetto_add(void *arg, const struct resolved_stacks *stacks,
			const struct resolved_stack *stack)
{
	struct perfetto_writer *writer = arg;
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__StackSample sample = PERFETTO__STACK_SAMPLE__INIT;
	int r;

	r = perfetto_number_stack(&writer->tables, stacks, stack, &sample.callstack_iid);
	if (r == 0)
		r = perfetto_number_task(&writer->tables, stacks, stack, &sample.task_context_iid);
	if (r < 0)
		return r;
	sample.has_callstack_iid = sample.callstack_iid > 0;
	sample.has_task_context_iid = sample.has_primary_weight = true;
	sample.primary_weight = stack->value;
	packet.stack_sample = &sample;
	packet.has_timestamp = true;
	packet.timestamp =
		block_wall_ns(writer->selection, stacks->stats->n_blocks, stack->group->block);
	return perfetto_write(&writer->tables, &packet);
}

static int perfetto_end(void *arg, const struct export_result *result)
{
	(void)arg;
	(void)result;
	return 0;
}

static const struct export_stack_operations operations = {
	.max_blocks = MAX_BLOCKS,
	.begin = perfetto_begin,
	.add = perfetto_add,
	.end = perfetto_end,
	.free = perfetto_free,
};

const struct export_writer export_perfetto = { .stacks = &operations };
