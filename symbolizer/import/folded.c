/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks: a line for each stack, its frames from the outermost to the leaf with semicolons
 * between, a blank, and the value. Pyroscope sends the same without values, with one line for each
 * sample.
 */
#include <string.h>

#include "symbolizer/import/import.h"
#include "symbolizer/import/import_private.h"

struct folded {
	struct foreign_profile *profile;
	uint32_t series;
	VEC_DEFINE(, struct foreign_frame) frames;
};

/* Takes the next line without its end. */
static bool next_line(struct bytes_view *rest, struct bytes_view *ret_line)
{
	const uint8_t *newline;

	if (rest->size == 0)
		return false;
	newline = memchr(rest->data, '\n', rest->size);
	ret_line->data = rest->data;
	ret_line->size = newline ? (size_t)(newline - rest->data) : rest->size;
	rest->data += ret_line->size + (newline != NULL);
	rest->size -= ret_line->size + (newline != NULL);
	if (ret_line->size > 0 && ret_line->data[ret_line->size - 1] == '\r')
		ret_line->size--;
	return true;
}

static size_t count_lines(struct bytes_view body)
{
	struct bytes_view line;
	size_t count = 0;

	while (next_line(&body, &line))
		count++;
	return count;
}

/* Splits the value off the end of the line. */
static int split_value(struct folded *folded, size_t number, struct bytes_view *line,
		       uint64_t *ret_value)
{
	size_t digits = 0;
	uint64_t value = 0;

	while (digits < line->size && line->data[line->size - 1 - digits] != ' ')
		digits++;
	if (digits == 0 || digits == line->size)
		return foreign_bad(folded->profile, "line %zu has no value", number);
	for (size_t i = line->size - digits; i < line->size; i++) {
		const unsigned int digit = (unsigned int)line->data[i] - '0';

		if (digit > 9 || value > IMPORT_MAX_VALUE)
			return foreign_bad(folded->profile,
					   "line %zu: the value is no number, or too "
					   "large",
					   number);
		value = value * 10 + digit;
	}
	line->size -= digits + 1;
	*ret_value = value;
	return 0;
}

/* Adds the frames of the line, the outermost first. */
static int add_frames(struct folded *folded, struct bytes_view line)
{
	const uint8_t *next = line.data, *end = line.data + line.size;

	vec_clear(&folded->frames);
	while (next < end) {
		const uint8_t *semicolon = memchr(next, ';', (size_t)(end - next));
		const uint8_t *name_end = semicolon ? semicolon : end;
		struct foreign_code code = {};
		struct foreign_frame frame;
		int r = foreign_text(folded->profile, (const char *)next, (size_t)(name_end - next),
				     &code.function);

		if (r == 0 && code.function)
			r = foreign_named_frame(folded->profile, &code, FRAME_IMPORTED, 0, &frame);
		if (r == 0 && code.function)
			r = vec_push(&folded->frames, frame);
		if (r < 0)
			return r;
		next = semicolon ? semicolon + 1 : end;
	}
	return 0;
}

static void reverse(struct foreign_frame *frames, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		const struct foreign_frame frame = frames[i];

		frames[i] = frames[count - 1 - i];
		frames[count - 1 - i] = frame;
	}
}

static int add_line(struct folded *folded, struct bytes_view line, uint64_t value)
{
	uint32_t stack;
	int r = add_frames(folded, line);

	if (r < 0)
		return r;
	reverse(folded->frames.items, folded->frames.count);
	r = foreign_stack(folded->profile, folded->frames.items, folded->frames.count, &stack);
	return r < 0 || value == 0 ? r : foreign_add(folded->profile, folded->series, stack, value);
}

static int add_lines(struct folded *folded, struct bytes_view body, bool has_values)
{
	struct bytes_view line;
	int r = 0;

	for (size_t number = 1; r == 0 && next_line(&body, &line); number++) {
		uint64_t value = 1;

		if (line.size == 0)
			continue;
		if (has_values)
			r = split_value(folded, number, &line, &value);
		if (r == 0)
			r = add_line(folded, line, value);
	}
	return r;
}

/*
 * Samples of a profiler with a known rate are time on CPU, in counts of a period. Others have the
 * event type of their unit.
 */
static int make_series(const struct import_request *request, struct folded *folded,
		       uint32_t process)
{
	const struct foreign_label_vec none = {};
	const char *units = request->units && request->units[0] ? request->units : "samples";
	struct foreign_series series = { .process = process };
	int r;

	if (strcmp(units, "samples") == 0 && request->sample_rate_hz > 0) {
		series.period_ns = NSEC_PER_SEC / request->sample_rate_hz;
		r = foreign_event(folded->profile, "cpu", "nanoseconds", &series.event);
	} else {
		r = foreign_event(folded->profile, units,
				  strcmp(units, "bytes") == 0 ? "bytes" : "count", &series.event);
	}
	return r < 0 ? r : foreign_series(folded->profile, &series, &none, &folded->series);
}

static int import_lines(struct import_call *call, struct bytes_view body, bool has_values,
			struct folded *folded, struct foreign_label_vec *labels)
{
	const struct import_request *request = call->request;
	const uint64_t until_ns = request->until_ns ? request->until_ns : request->now_ns;
	const uint64_t from_ns = request->until_ns ? request->from_ns : until_ns;
	struct import_sender sender;
	const char *name;
	uint32_t process;
	string_id service;
	int r = import_parse_name(call, request->name, &name, labels);

	folded->profile = call->profile;
	if (r < 0)
		return r;
	sender = import_sender_of(call->profile, labels, name);
	r = foreign_set_range(call->profile, from_ns, until_ns, count_lines(body));
	if (r == 0)
		r = foreign_text(call->profile, sender.service, strlen(sender.service), &service);
	if (r == 0)
		r = foreign_process(call->profile, service, import_pid_of(call->profile, labels),
				    labels, &process);
	if (r == 0)
		r = make_series(request, folded, process);
	if (r == 0)
		r = add_lines(folded, body, has_values);
	return r < 0 ? r : import_end_profile(call, &sender);
}

int import_folded(const struct import_request *request, struct bytes_view body, bool has_values,
		  struct import_result *result)
{
	struct foreign_label_vec labels = {};
	struct folded folded = {};
	struct import_call call;
	int r = import_call_begin(&call, request, body, result);

	if (r == 0)
		r = import_begin_profile(&call);
	if (r == 0)
		r = import_lines(&call, body, has_values, &folded, &labels);
	vec_release(&labels);
	vec_release(&folded.frames);
	import_call_release(&call);
	return r;
}
