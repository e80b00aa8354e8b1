/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a batch, which are sent as columns, and the contexts that they refer to. */

#include "symbolizer/ingest/batch_checks.h"

/* As W3C Trace Context and OpenTelemetry define them. */
#define TRACE_ID_BYTES 16
#define SPAN_ID_BYTES  8

static int check_row_columns(struct decode *decode, const Hearth__V1__RowTable *table)
{
	size_t count = table->n_series;

	if (table->n_slot != count || table->n_stack != count)
		return decode_bad(decode, "rows: columns of %zu, %zu and %zu items", count,
				  table->n_slot, table->n_stack);
	if (table->n_value != 0 && table->n_value != count)
		return decode_bad(decode, "rows: %zu values for %zu rows", table->n_value, count);
	if (table->n_context != 0 && table->n_context != count)
		return decode_bad(decode, "rows: %zu contexts for %zu rows", table->n_context,
				  count);
	if (count > BATCH_MAX_ROWS)
		return decode_too_much(decode, "rows: %zu, at most %u", count, BATCH_MAX_ROWS);
	if (table->first_slot > DECODE_MAX_TIME_NS / SLOT_NS)
		return decode_bad(decode, "rows.first_slot is out of range");
	return 0;
}

/* The slots allowed in this batch, on the monotonic clock, and the offset to the wall clock. */
struct slot_range {
	int64_t first;
	int64_t last;
	uint64_t wall_offset_ns;
};

static struct slot_range slot_range_of(const Hearth__V1__Batch *message)
{
	uint64_t opened = message->opened_monotonic_ns;

	return (struct slot_range){
		.first = (int64_t)(opened > DECODE_MAX_BEFORE_NS
					   ? (opened - DECODE_MAX_BEFORE_NS) / SLOT_NS
					   : 0),
		.last = (int64_t)(message->closed_monotonic_ns / SLOT_NS) + 1,
		.wall_offset_ns = message->closed_wall_ns - message->closed_monotonic_ns,
	};
}

static bool is_before(const struct batch_row *row, const struct batch_row *other)
{
	if (row->series != other->series)
		return row->series < other->series;
	if (row->slot != other->slot)
		return row->slot < other->slot;
	return row->stack < other->stack;
}

static int decode_row_columns(struct decode *decode, const Hearth__V1__RowTable *table,
			      struct batch_row *rows)
{
	const struct slot_range range = slot_range_of(decode->message);
	/* The type of a series that was defined before is known to the store only. */
	const bool zero_allowed = decode->message->format > 1;
	int64_t slot = (int64_t)table->first_slot;
	int64_t series = 0;

	for (size_t i = 0; i < table->n_series; i++) {
		uint64_t value = table->n_value ? table->value[i] : 1;

		series += table->series[i];
		slot += table->slot[i];
		if (series <= 0 || series > UINT32_MAX)
			return decode_bad(decode, "rows.series[%zu]: the number becomes %lld", i,
					  (long long)series);
		if (slot < range.first || slot > range.last)
			return decode_bad(decode,
					  "rows.slot[%zu]: slot %lld is outside of the batch", i,
					  (long long)slot);
		if ((value == 0 && !zero_allowed) || value > DECODE_MAX_VALUE)
			return decode_bad(decode, "rows.value[%zu] is out of range", i);
		rows[i] = (struct batch_row){
			.series = (uint32_t)series,
			.stack = table->stack[i],
			.slot = ((uint64_t)slot * SLOT_NS + range.wall_offset_ns) / SLOT_NS,
			.value = value,
		};
		if (i > 0 && is_before(&rows[i], &rows[i - 1]))
			return decode_bad(decode,
					  "rows[%zu] is not sorted by series, slot and stack", i);
	}
	return 0;
}

static int check_contexts(struct decode *decode)
{
	const Hearth__V1__Batch *message = decode->message;

	if (message->n_contexts > DECODE_MAX_CONTEXTS)
		return decode_too_much(decode, "contexts: %zu, at most %u", message->n_contexts,
				       DECODE_MAX_CONTEXTS);
	for (size_t i = 0; i < message->n_contexts; i++) {
		const Hearth__V1__Context *context = message->contexts[i];

		if (context->trace_id.len != TRACE_ID_BYTES)
			return decode_bad(decode, "contexts[%zu].trace_id has %zu bytes, not %d", i,
					  context->trace_id.len, TRACE_ID_BYTES);
		if (context->span_id.len != 0 && context->span_id.len != SPAN_ID_BYTES)
			return decode_bad(decode, "contexts[%zu].span_id has %zu bytes, not %d", i,
					  context->span_id.len, SPAN_ID_BYTES);
	}
	return 0;
}

/* Contexts are checked and counted. This version of the store does not keep them. */
static int decode_contexts(struct decode *decode, const Hearth__V1__RowTable *table)
{
	int r;

	r = check_contexts(decode);
	for (size_t i = 0; i < table->n_context && r == 0; i++) {
		if (table->context[i] > decode->message->n_contexts)
			return decode_bad(decode, "rows.context[%zu] is %u of %zu", i,
					  table->context[i], decode->message->n_contexts);
		decode->batch->n_rows_with_context += table->context[i] != 0;
	}
	return r;
}

int decode_rows(struct decode *decode)
{
	const Hearth__V1__RowTable *table = decode->message->rows;
	struct batch_row *rows;
	int r;

	if (!table)
		return 0;
	r = check_row_columns(decode, table);
	if (r < 0)
		return r;
	rows = decode_array(decode, table->n_series, sizeof(*rows));
	if (!rows)
		return decode_no_room(decode);
	r = decode_row_columns(decode, table, rows);
	if (r == 0)
		r = decode_contexts(decode, table);
	if (r < 0)
		return r;
	decode->batch->rows = rows;
	decode->batch->n_rows = (uint32_t)table->n_series;
	return 0;
}
