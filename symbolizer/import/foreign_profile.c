/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions are found by the hash of their content, with a byte that tells the tables apart.
 */
#include "symbolizer/import/foreign_profile.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/utf8.h"
#include "symbolizer/import/foreign_event_types.def"

/* Texts of one profile. */
#define MAX_TEXT_BYTES (64 * MIB)

enum table {
	TABLE_PROCESS = 1,
	TABLE_EVENT,
	TABLE_SERIES,
	TABLE_CODE,
	TABLE_EXECUTABLE,
	TABLE_STACK,
};

printf_like(3, 0) static int report(struct foreign_profile *profile, int error, const char *format,
				    va_list arguments)
{
	(void)vsnprintf(profile->reason, FOREIGN_REASON_SIZE, format, arguments);
	return error;
}

int foreign_bad(struct foreign_profile *profile, const char *format, ...)
{
	va_list arguments;
	int r;

	va_start(arguments, format);
	r = report(profile, -EBADMSG, format, arguments);
	va_end(arguments);
	return r;
}

int foreign_too_much(struct foreign_profile *profile, const char *format, ...)
{
	va_list arguments;
	int r;

	va_start(arguments, format);
	r = report(profile, -EFBIG, format, arguments);
	va_end(arguments);
	return r;
}

int foreign_no_room(struct foreign_profile *profile)
{
	return foreign_too_much(profile, "the profile takes more memory than %llu MiB",
				(unsigned long long)(IMPORT_MAX_DECODED_BYTES / MIB));
}

int foreign_profile_new(struct arena *arena, char *reason, struct foreign_profile **ret_profile)
{
	scoped(foreign_profile_freep) struct foreign_profile *profile = calloc(1, sizeof(*profile));

	reason[0] = '\0';
	if (!profile || string_table_new(MAX_TEXT_BYTES, &profile->texts) < 0 ||
	    hash_table_new(sizeof(struct hash128), sizeof(uint32_t), 0, &profile->numbers) < 0)
		return -ENOMEM;
	profile->arena = arena;
	profile->reason = reason;
	profile->n_parts = 1;
	profile->host = "";
	profile->program = "";
	*ret_profile = take_ptr(profile);
	return 0;
}

struct foreign_profile *foreign_profile_free(struct foreign_profile *profile)
{
	if (!profile)
		return NULL;
	(void)string_table_free(profile->texts);
	(void)hash_table_free(profile->numbers);
	vec_release(&profile->labels);
	vec_release(&profile->processes);
	vec_release(&profile->events);
	vec_release(&profile->series);
	vec_release(&profile->codes);
	vec_release(&profile->executables);
	vec_release(&profile->frames);
	vec_release(&profile->stacks);
	vec_release(&profile->rows);
	free(profile);
	return NULL;
}

int foreign_set_range(struct foreign_profile *profile, uint64_t from_ns, uint64_t until_ns,
		      size_t n_values)
{
	uint64_t n_parts;

	if (until_ns < from_ns)
		return foreign_bad(profile, "the profile ends before it begins");
	if (until_ns >= IMPORT_MAX_TIME_NS)
		return foreign_bad(profile, "the time of the profile is out of range");
	if (until_ns - from_ns > IMPORT_MAX_DURATION_NS)
		return foreign_bad(profile, "the profile covers %llu s, at most %llu",
				   (unsigned long long)((until_ns - from_ns) / NSEC_PER_SEC),
				   (unsigned long long)(IMPORT_MAX_DURATION_NS / NSEC_PER_SEC));
	profile->from_ns = from_ns;
	profile->until_ns = until_ns;
	n_parts = MIN((until_ns - from_ns + NSEC_PER_SEC - 1) / NSEC_PER_SEC,
		      (uint64_t)IMPORT_MAX_PARTS);
	n_parts = MIN(n_parts, (uint64_t)IMPORT_MAX_ROWS / MAX(n_values, (size_t)1));
	profile->n_parts = (uint32_t)MAX(n_parts, UINT64_C(1));
	return 0;
}

/* The length of @text that a batch may have, with whole characters only. */
static size_t cut_length(const char *text, size_t length)
{
	size_t most = length;

	if (length <= BATCH_MAX_TEXT_BYTES)
		return length;
	most = BATCH_MAX_TEXT_BYTES;
	while (most > 0 && ((uint8_t)text[most] & 0xc0) == 0x80)
		most--;
	return most;
}

int foreign_text(struct foreign_profile *profile, const char *text, size_t length,
		 string_id *ret_id)
{
	char repaired[BATCH_MAX_TEXT_BYTES];
	int r;

	length = cut_length(text, strnlen(text, length));
	if (utf8_valid_length(text, length) < length) {
		length = utf8_repair(text, length, repaired, sizeof(repaired));
		text = repaired;
	}
	r = string_table_intern(profile->texts, text, length, ret_id);
	return r == -ENOSPC ? foreign_no_room(profile) : r;
}

/* Finds the number of a definition. 1: it is new, and its number is @count + 1. */
static int find_number(struct foreign_profile *profile, enum table table, struct bytes_view content,
		       size_t count, uint32_t *ret_number)
{
	struct hash128 hash = hash128_of(content.data, content.size);
	uint32_t *number;
	int r;

	hash.bytes[0] = (uint8_t)(hash.bytes[0] ^ (uint8_t)table);
	r = hash_table_insert(profile->numbers, &hash, (void **)&number);
	if (r < 0)
		return r;
	if (r > 0)
		*number = (uint32_t)count + 1;
	*ret_number = *number;
	return r;
}

#define VIEW_OF(object) ((struct bytes_view){ (const uint8_t *)(object), sizeof(*(object)) })

/* Like find_number(), for a definition with labels. The caller adds it if the result is 1. */
static int find_labelled(struct foreign_profile *profile, enum table table,
			 struct bytes_view content, const struct foreign_label_vec *labels,
			 size_t count, uint32_t *ret_number)
{
	struct {
		struct hash128 content, labels;
	} both = { .content = hash128_of(content.data, content.size) };

	if (labels->count > 0)
		both.labels = hash128_of(labels->items, labels->count * sizeof(*labels->items));
	return find_number(profile, table, VIEW_OF(&both), count, ret_number);
}

static int add_labels(struct foreign_profile *profile, const struct foreign_label_vec *labels,
		      uint32_t *ret_first)
{
	int r = vec_reserve(&profile->labels, labels->count);

	if (r < 0)
		return r;
	*ret_first = (uint32_t)profile->labels.count;
	for (size_t i = 0; i < labels->count; i++)
		profile->labels.items[profile->labels.count++] = labels->items[i];
	return 0;
}

static int compare_labels(const void *a, const void *b, void *arg)
{
	const struct foreign_label *left = a, *right = b;
	const struct string_table *texts = arg;
	int order =
		strcmp(string_table_text(texts, left->name), string_table_text(texts, right->name));

	return order ? order : (left->value > right->value) - (left->value < right->value);
}

int foreign_sort_labels(struct foreign_profile *profile, struct foreign_label_vec *labels,
			size_t max)
{
	size_t count = 0;

	if (labels->count > 1)
		qsort_r(labels->items, labels->count, sizeof(*labels->items), compare_labels,
			profile->texts);
	for (size_t i = 0; i < labels->count; i++) {
		const struct foreign_label label = labels->items[i];

		if (label.name == 0 || count == max ||
		    (count > 0 && labels->items[count - 1].name == label.name))
			profile->n_labels_left_out++;
		else
			labels->items[count++] = label;
	}
	labels->count = count;
	return 0;
}

int foreign_process(struct foreign_profile *profile, string_id service, uint32_t pid,
		    const struct foreign_label_vec *labels, uint32_t *ret_number)
{
	struct foreign_process process = { .service = service, .pid = pid };
	int r;

	r = find_labelled(profile, TABLE_PROCESS, VIEW_OF(&process), labels,
			  profile->processes.count, ret_number);
	if (r <= 0)
		return r;
	process.n_labels = (uint32_t)labels->count;
	r = add_labels(profile, labels, &process.first_label);
	return r < 0 ? r : vec_push(&profile->processes, process);
}

/* Types whose names say what they are without their unit. */
static const struct {
	const char *type, *unit, *name, *event_unit;
	enum event_value_kind kind;
} event_types[] = {
#define X(type, unit, name, event_unit, kind) { type, unit, name, event_unit, EVENT_VALUE_##kind },
	FOREIGN_EVENT_TYPES(X)
#undef X
};

/* Units of time, in which values become nanoseconds. */
static uint32_t nanoseconds_in(const char *unit)
{
	static const struct {
		const char *unit;
		uint32_t ns;
	} units[] = {
		{ "nanoseconds", 1 },        { "ns", 1 },
		{ "microseconds", 1000 },    { "us", 1000 },
		{ "milliseconds", 1000000 }, { "ms", 1000000 },
		{ "seconds", 1000000000 },   { "s", 1000000000 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (strcmp(unit, units[i].unit) == 0)
			return units[i].ns;
	return 0;
}

static int make_event(struct foreign_profile *profile, const char *type, const char *unit,
		      struct foreign_event *ret_event)
{
	const uint32_t ns = nanoseconds_in(unit);
	const char *name = type, *event_unit = ns ? "ns" : unit,
		   *sought = ns ? "nanoseconds" : unit;
	struct foreign_event event = { .kind = ns ? EVENT_VALUE_TIME : EVENT_VALUE_SUM,
				       .scale = ns ? ns : 1 };
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(event_types); i++) {
		if (strcmp(type, event_types[i].type) != 0 ||
		    strcmp(sought, event_types[i].unit) != 0)
			continue;
		name = event_types[i].name;
		event_unit = event_types[i].event_unit;
		event.kind = event_types[i].kind;
	}
	r = foreign_text(profile, name, strlen(name), &event.name);
	if (r == 0)
		r = foreign_text(profile, event_unit, strlen(event_unit), &event.unit);
	*ret_event = event;
	return r;
}

int foreign_event(struct foreign_profile *profile, const char *type, const char *unit,
		  uint32_t *ret_number)
{
	struct foreign_event event;
	int r;

	if (type[0] == '\0')
		return foreign_bad(profile, "sample_type: a type of values has no name");
	if (strlen(type) > MAX_EVENT_TEXT_BYTES || strlen(unit) > MAX_EVENT_TEXT_BYTES)
		return foreign_bad(profile,
				   "sample_type: '%.64s' or its unit is longer than %d bytes", type,
				   MAX_EVENT_TEXT_BYTES);
	if (profile->events.count >= MAX_EVENT_TYPES)
		return foreign_too_much(profile, "sample_type: more than %d types of values",
					MAX_EVENT_TYPES);
	r = make_event(profile, type, unit, &event);
	if (r == 0)
		r = find_number(profile, TABLE_EVENT, VIEW_OF(&event), profile->events.count,
				ret_number);
	return r <= 0 ? r : vec_push(&profile->events, event);
}

int foreign_series(struct foreign_profile *profile, const struct foreign_series *series,
		   const struct foreign_label_vec *labels, uint32_t *ret_number)
{
	struct foreign_series added = *series;
	int r;

	if (profile->series.count >= IMPORT_MAX_SERIES)
		return foreign_too_much(profile,
					"the samples have more than %u different sets of labels",
					IMPORT_MAX_SERIES);
	r = find_labelled(profile, TABLE_SERIES, VIEW_OF(series), labels, profile->series.count,
			  ret_number);
	if (r <= 0)
		return r;
	added.n_labels = (uint32_t)labels->count;
	r = add_labels(profile, labels, &added.first_label);
	return r < 0 ? r : vec_push(&profile->series, added);
}

static int check_objects(struct foreign_profile *profile)
{
	if (profile->codes.count + profile->executables.count < IMPORT_MAX_OBJECTS)
		return 0;
	return foreign_too_much(profile, "the profile has more than %u functions and files",
				IMPORT_MAX_OBJECTS);
}

int foreign_named_frame(struct foreign_profile *profile, const struct foreign_code *code,
			uint8_t kind, uint32_t line, struct foreign_frame *ret_frame)
{
	uint32_t number;
	int r = check_objects(profile);

	if (r == 0)
		r = find_number(profile, TABLE_CODE, VIEW_OF(code), profile->codes.count, &number);
	if (r > 0)
		r = vec_push(&profile->codes, *code);
	if (r < 0)
		return r;
	*ret_frame = (struct foreign_frame){
		.kind = kind,
		.object = FRAME_CODE_OBJECT | number,
		.address = line,
	};
	return 0;
}

int foreign_executable(struct foreign_profile *profile, const struct executable_id *id,
		       string_id name, uint32_t *ret_number)
{
	const struct foreign_executable executable = { .id = *id, .name = name };
	struct foreign_executable key;
	int r = check_objects(profile);

	/* A hash must not see padding. */
	memset(&key, 0, sizeof(key));
	key.id = executable.id;
	key.name = executable.name;
	if (r == 0)
		r = find_number(profile, TABLE_EXECUTABLE, VIEW_OF(&key),
				profile->executables.count, ret_number);
	return r <= 0 ? r : vec_push(&profile->executables, executable);
}

int foreign_stack(struct foreign_profile *profile, const struct foreign_frame *frames,
		  size_t n_frames, uint32_t *ret_number)
{
	struct foreign_stack stack = { .first_frame = (uint32_t)profile->frames.count,
				       .n_frames =
					       (uint32_t)MIN(n_frames, (size_t)STACK_MAX_FRAMES) };
	const struct bytes_view content = { (const uint8_t *)frames,
					    stack.n_frames * sizeof(*frames) };
	int r;

	stack.cut = n_frames > STACK_MAX_FRAMES ? STACK_CUT_DEPTH : STACK_CUT_NONE;
	if (profile->frames.count + stack.n_frames > IMPORT_MAX_FRAMES)
		return foreign_too_much(profile, "the stacks have more than %u frames",
					IMPORT_MAX_FRAMES);
	r = find_number(profile, TABLE_STACK, content, profile->stacks.count, ret_number);
	if (r > 0)
		r = vec_reserve(&profile->frames, stack.n_frames);
	if (r < 0 || *ret_number <= profile->stacks.count)
		return r;
	if (stack.n_frames > 0)
		memcpy(&profile->frames.items[profile->frames.count], frames, content.size);
	profile->frames.count += stack.n_frames;
	return vec_push(&profile->stacks, stack);
}

static int add_row(struct foreign_profile *profile, const struct batch_row *row)
{
	if (profile->rows.count >= IMPORT_MAX_ROWS)
		return foreign_too_much(profile, "the profile has more than %u values",
					IMPORT_MAX_ROWS);
	return vec_push(&profile->rows, *row);
}

static const struct foreign_event *event_of(const struct foreign_profile *profile, uint32_t series)
{
	return &profile->events.items[profile->series.items[series - 1].event - 1];
}

/* Converts a value of the profile to the unit of its event type. */
static int scale(struct foreign_profile *profile, uint32_t series, uint64_t value,
		 uint64_t *ret_value)
{
	if (__builtin_mul_overflow(value, (uint64_t)event_of(profile, series)->scale, ret_value) ||
	    *ret_value > IMPORT_MAX_VALUE)
		return foreign_bad(profile, "a value of a sample is out of range: %llu",
				   (unsigned long long)value);
	return 0;
}

/* The middle of part @part of the time of the profile. */
static uint64_t slot_of_part(const struct foreign_profile *profile, uint32_t part)
{
	const uint64_t length_ns = profile->until_ns - profile->from_ns;

	return (profile->from_ns + length_ns * (2 * part + 1) / (2 * profile->n_parts)) / SLOT_NS;
}

/*
 * Part i of n gets the difference of two rounded shares, so that the sum of all parts is the value.
 * A value smaller than n is in few parts. These differ from stack to stack, else all small values
 * would be at one time.
 */
static int add_parts(struct foreign_profile *profile, struct batch_row row, uint64_t value)
{
	const uint64_t n = profile->n_parts, phase = row.stack % n;
	uint64_t done = 0;
	int r = 0;

	for (uint32_t part = 0; part < n && r == 0; part++) {
		const uint64_t upto = (value * (part + 1) + phase) / n;

		row.slot = slot_of_part(profile, part);
		row.value = upto - done;
		done = upto;
		if (row.value > 0)
			r = add_row(profile, &row);
	}
	return r;
}

int foreign_add(struct foreign_profile *profile, uint32_t series, uint32_t stack, uint64_t value)
{
	struct batch_row row = { .series = series, .stack = stack };
	int r = scale(profile, series, value, &row.value);

	if (r < 0)
		return r;
	profile->n_values++;
	if (event_of(profile, series)->kind != EVENT_VALUE_STATE)
		return add_parts(profile, row, row.value);
	row.slot = (profile->until_ns - (profile->until_ns > profile->from_ns)) / SLOT_NS;
	return add_row(profile, &row);
}

int foreign_add_at(struct foreign_profile *profile, uint32_t series, uint32_t stack, uint64_t value,
		   uint64_t wall_ns)
{
	struct batch_row row = { .series = series, .stack = stack, .slot = wall_ns / SLOT_NS };
	int r = scale(profile, series, value, &row.value);

	assert(wall_ns >= profile->from_ns && wall_ns <= profile->until_ns);
	if (r < 0 || row.value == 0)
		return r;
	profile->n_values++;
	return add_row(profile, &row);
}
