/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/import/otlp_profile.h"

#include <string.h>

/* Longest period of samples: that of a batch. */
#define MAX_PERIOD_NS ((int64_t)3600 * (int64_t)NSEC_PER_SEC)

/* What the values of one type become. */
struct otlp_column {
	uint32_t event;
	uint64_t period_ns;
};

void otlp_reader_release(struct otlp_reader *reader)
{
	otlp_frames_release(&reader->frames);
	otlp_labels_release(&reader->labels);
	vec_release(&reader->stack);
	id_map_release(&reader->stacks);
}

static void extend(struct otlp_range *range, const struct otlp_profile *source)
{
	for (size_t i = 0; i < source->n_samples; i++) {
		size_t count;
		const uint64_t *timestamps_ns = otlp_timestamps_at(source, i, &count);

		for (size_t k = 0; k < count; k++) {
			range->from_ns = MIN(range->from_ns, timestamps_ns[k]);
			range->until_ns = MAX(range->until_ns, timestamps_ns[k]);
		}
	}
}

struct otlp_range otlp_profile_range(const struct otlp_profile *source, uint64_t now_ns)
{
	const uint64_t duration_ns = source->duration_ns;
	struct otlp_range range = { .from_ns = source->time_ns };

	if (range.from_ns == 0)
		range.from_ns = now_ns - MIN(duration_ns, now_ns);
	if (__builtin_add_overflow(range.from_ns, duration_ns, &range.until_ns))
		range.until_ns = UINT64_MAX;
	extend(&range, source);
	return range;
}

static int type_texts(struct otlp_reader *reader, const Otlp__ValueType *type, const char *field,
		      const char **ret_type, const char **ret_unit)
{
	const struct otlp_tables *tables = reader->source->tables;

	*ret_type = otlp_string(tables, type->type_strindex);
	*ret_unit = otlp_string(tables, type->unit_strindex);
	if (*ret_type && *ret_unit)
		return 0;
	return foreign_bad(reader->profile, "%s.%s: string %d of %zu", field,
			   *ret_type ? "unit_strindex" : "type_strindex",
			   *ret_type ? type->unit_strindex : type->type_strindex,
			   tables->n_strings);
}

/* Whether the period is one of CPU time in nanoseconds. */
static int has_cpu_period(struct otlp_reader *reader, bool *ret_has)
{
	const struct otlp_profile *source = reader->source;
	const char *type = "", *unit = "";
	int r = 0;

	if (source->period_type)
		r = type_texts(reader, source->period_type, "period_type", &type, &unit);
	*ret_has = r == 0 && source->period > 0 && source->period <= MAX_PERIOD_NS &&
		   strcmp(type, "cpu") == 0 && strcmp(unit, "nanoseconds") == 0;
	return r;
}

static int read_type(struct otlp_reader *reader, size_t index)
{
	struct otlp_column *column = &reader->columns[index];
	const char *type, *unit;
	bool has_period;
	int r = type_texts(reader, reader->source->types[index], "sample_type", &type, &unit);

	if (r == 0)
		r = has_cpu_period(reader, &has_period);
	if (r < 0)
		return r;
	column->period_ns = 0;
	if (has_period && strcmp(type, "samples") == 0 && strcmp(unit, "count") == 0) {
		column->period_ns = (uint64_t)reader->source->period;
		type = "cpu";
		unit = "nanoseconds";
	}
	return foreign_event(reader->profile, type, unit, &column->event);
}

static int read_types(struct otlp_reader *reader)
{
	const size_t count = reader->source->n_types;
	int r = 0;

	if (count == 0)
		return foreign_bad(reader->profile, "sample_type is missing");
	reader->columns =
		arena_alloc_array(reader->profile->arena, count, sizeof(*reader->columns));
	if (!reader->columns)
		return foreign_no_room(reader->profile);
	for (size_t i = 0; i < count && r == 0; i++)
		r = read_type(reader, i);
	return r;
}

/* A sample whose series and stack are known. */
struct known_sample {
	const struct otlp_sample *sample;
	size_t index;
	struct foreign_series series;
	uint32_t stack;
};

/* Adds one value, at a time or (0) over the whole time of the profile. */
static int add_value(struct otlp_reader *reader, uint32_t series, const struct known_sample *known,
		     int64_t value, uint64_t wall_ns)
{
	if (value < 0)
		return foreign_bad(reader->profile, "samples[%zu].values: %lld is negative",
				   known->index, (long long)value);
	if (value == 0)
		return 0;
	return wall_ns ? foreign_add_at(reader->profile, series, known->stack, (uint64_t)value,
					wall_ns)
		       : foreign_add(reader->profile, series, known->stack, (uint64_t)value);
}

/*
 * Divides a value among the timestamps. Profilers that send the value 1 with several timestamps
 * mean one for each.
 */
static int divide_value(struct otlp_reader *reader, uint32_t series,
			const struct known_sample *known, int64_t value)
{
	const struct otlp_sample *sample = known->sample;
	const int64_t n = (int64_t)sample->n_timestamps;
	const int64_t total = value == 1 ? n : value;
	const int64_t share = total / n, rest = total % n;
	/* A sample may have many types, so the loop is only as long as it adds values. */
	const int64_t n_parts = share == 0 ? rest : n;
	int r = 0;

	if (value < 0)
		return add_value(reader, series, known, value, 0);
	for (int64_t i = 0; i < n_parts && r == 0; i++)
		r = add_value(reader, series, known, share + (i < rest), sample->timestamps_ns[i]);
	return r;
}

/* Adds the values of the only type. */
static int add_values(struct otlp_reader *reader, uint32_t series, const struct known_sample *known)
{
	const struct otlp_sample *sample = known->sample;
	int r = 0;

	if (sample->n_timestamps > 0 && sample->n_values == 1)
		return divide_value(reader, series, known, sample->values[0]);
	if (sample->n_timestamps > 0 && sample->n_values > 0 &&
	    sample->n_values != sample->n_timestamps)
		return foreign_bad(reader->profile,
				   "samples[%zu] has %zu values and %zu timestamps", known->index,
				   sample->n_values, sample->n_timestamps);
	if (sample->n_timestamps == 0 && sample->n_values == 0)
		return foreign_bad(reader->profile,
				   "samples[%zu] has neither values nor timestamps_unix_nano",
				   known->index);
	for (size_t i = 0; i < MAX(sample->n_values, sample->n_timestamps) && r == 0; i++)
		r = add_value(reader, series, known, sample->n_values ? sample->values[i] : 1,
			      sample->n_timestamps ? sample->timestamps_ns[i] : 0);
	return r;
}

/* Adds the value of one of several types. */
static int add_value_of_type(struct otlp_reader *reader, uint32_t series,
			     const struct known_sample *known, size_t type)
{
	const struct otlp_sample *sample = known->sample;

	return sample->n_timestamps > 0 ? divide_value(reader, series, known, sample->values[type])
					: add_value(reader, series, known, sample->values[type], 0);
}

static int add_types(struct otlp_reader *reader, struct known_sample *known)
{
	const size_t n_types = reader->source->n_types;
	int r = 0;

	if (n_types > 1 && known->sample->n_values != n_types)
		return foreign_bad(reader->profile,
				   "sample[%zu] has %zu values, but there are %zu types",
				   known->index, known->sample->n_values, n_types);
	for (size_t i = 0; i < n_types && r == 0; i++) {
		uint32_t series;

		known->series.event = reader->columns[i].event;
		known->series.period_ns = reader->columns[i].period_ns;
		r = foreign_series(reader->profile, &known->series, &reader->labels.of_series,
				   &series);
		if (r == 0)
			r = n_types == 1 ? add_values(reader, series, known)
					 : add_value_of_type(reader, series, known, i);
	}
	return r;
}

/* Many samples may have one stack, which is read once. */
static int read_stack(struct otlp_reader *reader, const struct otlp_sample *sample,
		      uint32_t *ret_stack)
{
	const uint32_t *known = id_map_find(&reader->stacks, sample->stack_key + 1);
	int r;

	if (known) {
		*ret_stack = *known;
		return 0;
	}
	vec_clear(&reader->stack);
	r = otlp_frames_append(&reader->frames, &sample->locations, &reader->stack);
	if (r == 0)
		r = foreign_stack(reader->profile, reader->stack.items, reader->stack.count,
				  ret_stack);
	return r < 0 ? r : id_map_set(&reader->stacks, sample->stack_key + 1, *ret_stack);
}

static int read_sample(struct otlp_reader *reader, size_t index)
{
	struct otlp_sample sample;
	struct known_sample known = { .sample = &sample, .index = index };
	int r = otlp_sample_at(reader->profile, reader->source, index, &sample);

	if (r == 0)
		r = otlp_labels_of_sample(&reader->labels, &sample, index, &known.series);
	if (r == 0)
		r = read_stack(reader, &sample, &known.stack);
	return r < 0 ? r : add_types(reader, &known);
}

int otlp_profile_read(struct otlp_reader *reader)
{
	int r = read_types(reader);

	id_map_release(&reader->stacks);
	id_map_init(&reader->stacks);
	for (size_t i = 0; i < reader->source->n_samples && r == 0; i++)
		r = read_sample(reader, i);
	return r;
}
