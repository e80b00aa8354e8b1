/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The series of a batch, and the event types that they refer to. A type that this version does not
 * know keeps its description, so that the store can keep it by its name.
 */

#include <stdlib.h>
#include <string.h>

#include "symbolizer/ingest/batch_checks.h"

static int decode_event_type(struct decode *decode, size_t index, struct batch_event_type *out)
{
	const Hearth__V1__EventType *type = decode->message->event_types[index];
	int r;

	r = decode_string(decode, type->name, "event_types.name", index, &out->name);
	if (r == 0)
		r = decode_string(decode, type->unit, "event_types.unit", index, &out->unit);
	if (r < 0)
		return r;
	if (strlen(out->name) > MAX_EVENT_TEXT_BYTES || strlen(out->unit) > MAX_EVENT_TEXT_BYTES)
		return decode_bad(decode, "event_types[%zu]: name or unit is longer than %d bytes",
				  index, MAX_EVENT_TEXT_BYTES);
	if (out->name[0] == '\0')
		return decode_bad(decode, "event_types[%zu].name is empty", index);
	if (type->kind == 0 || type->kind >= EVENT_VALUE_KIND_END)
		return decode_bad(decode, "event_types[%zu].kind is %u", index, type->kind);
	out->kind = (enum event_value_kind)type->kind;
	return 0;
}

int decode_event_types(struct decode *decode)
{
	size_t count = decode->message->n_event_types;
	int r = 0;

	if (count > MAX_EVENT_TYPES)
		return decode_too_much(decode, "event_types: %zu, at most %d", count,
				       MAX_EVENT_TYPES);
	decode->event_types = decode_array(decode, count, sizeof(*decode->event_types));
	if (!decode->event_types)
		return decode_no_room(decode);
	for (size_t i = 0; i < count && r == 0; i++)
		r = decode_event_type(decode, i, &decode->event_types[i]);
	return r;
}

/*
 * In format 1 a series has the number of a known event type, in format 2 the index of a description
 * of the type.
 */
static int decode_type(struct decode *decode, const Hearth__V1__Series *series, size_t index,
		       struct batch_series *out)
{
	const struct batch_event_type *type;

	if (decode->message->format == 1) {
		if (series->event_type >= EVENT_TYPE_END)
			return decode_bad(decode, "series[%zu].event_type is %u", index,
					  series->event_type);
		out->type = (enum event_type)series->event_type;
		return 0;
	}
	if (series->event_type == 0)
		return 0;
	if (series->event_type > decode->message->n_event_types)
		return decode_bad(decode, "series[%zu].event_type is %u of %zu", index,
				  series->event_type, decode->message->n_event_types);
	type = &decode->event_types[series->event_type - 1];
	out->type = event_type_from_name(type->name);
	out->described = out->type == EVENT_NONE ? type : NULL;
	return 0;
}

static int compare_labels(const void *a, const void *b)
{
	return strcmp(((const struct label *)a)->name, ((const struct label *)b)->name);
}

/*
 * Decodes the labels and sorts them by name, so that equal sets of labels have equal bytes in the
 * store.
 */
static int decode_series_labels(struct decode *decode, const Hearth__V1__Series *series,
				size_t index, struct batch_series *out)
{
	const struct label_columns columns = {
		.names = series->label_name,
		.values = series->label_value,
		.n_names = series->n_label_name,
		.n_values = series->n_label_value,
		.max = MAX_LABELS_PER_SERIES,
		.owner = "series",
		.item = index,
	};
	int r;

	r = decode_labels(decode, &columns, &out->labels, &out->n_labels);
	if (r < 0)
		return r;
	if (out->n_labels > 1)
		qsort(out->labels, out->n_labels, sizeof(*out->labels), compare_labels);
	for (uint32_t i = 1; i < out->n_labels; i++)
		if (compare_labels(&out->labels[i - 1], &out->labels[i]) == 0)
			return decode_bad(decode, "series[%zu] has the label '%.100s' twice", index,
					  out->labels[i].name);
	return 0;
}

static int decode_one_series(struct decode *decode, size_t index, struct batch_series *out)
{
	const Hearth__V1__Series *series = decode->message->series[index];
	int r;

	if (series->number == 0)
		return decode_bad(decode, "series[%zu].number is 0", index);
	if (series->event_type == 0 && series->process != 0)
		return decode_bad(decode, "series[%zu].event_type is 0", index);
	if (series->event_type != 0 && series->process == 0)
		return decode_bad(decode, "series[%zu].process is 0", index);
	if (series->cpu_plus_one > DECODE_MAX_CPUS)
		return decode_bad(decode, "series[%zu].cpu_plus_one is %u", index,
				  series->cpu_plus_one);
	if (series->period_ns > DECODE_MAX_PERIOD_NS)
		return decode_bad(decode, "series[%zu].period_ns is more than an hour", index);
	*out = (struct batch_series){
		.number = series->number,
		.process = series->process,
		.tid = series->tid,
		.cpu = (int)series->cpu_plus_one - 1,
		.period_ns = series->period_ns,
	};
	r = decode_type(decode, series, index, out);
	if (r == 0)
		r = decode_string(decode, series->thread_name, "series.thread_name", index,
				  &out->thread_name);
	return r < 0 ? r : decode_series_labels(decode, series, index, out);
}

int decode_series(struct decode *decode)
{
	size_t count = decode->message->n_series;
	struct batch_series *series = decode_array(decode, count, sizeof(*series));

	if (!series)
		return decode_no_room(decode);
	for (size_t i = 0; i < count; i++) {
		int r = decode_one_series(decode, i, &series[i]);

		if (r < 0)
			return r;
	}
	decode->batch->series = series;
	decode->batch->n_series = (uint32_t)count;
	return 0;
}
