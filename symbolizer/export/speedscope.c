/* SPDX-License-Identifier: Apache-2.0 */
/*
 * speedscope: the file format of speedscope.app, version 0.0.1, with one sampled profile. It has a
 * sample for each different stack, because stored stacks have no order in time.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_writer.h"
#include "symbolizer/export/merged_stacks.h"
#include "symbolizer/flame/saturating_add.h"

/* Deepest stack that is written. An agent records at most 1024 frames of a stack; inlined functions
 * are in addition. */
#define MAX_DEPTH 65536

struct speedscope_writer {
	const struct export_selection *selection;
	struct merged_stacks merged;
	struct json_writer json;   /* of the output */
	struct json_writer frames; /* of @frames_text */
	struct bytes frames_text;
};

static void speedscope_free(void *arg)
{
	struct speedscope_writer *writer = arg;

	if (!writer)
		return;
	merged_stacks_release(&writer->merged);
	bytes_release(&writer->frames_text);
	free(writer);
}

static int speedscope_begin(const struct export_selection *selection, struct bytes *out,
			    void **ret_writer)
{
	struct speedscope_writer *writer = calloc(1, sizeof(*writer));
	int r;

	if (!writer)
		return -ENOMEM;
	writer->selection = selection;
	writer->frames_text = BYTES_INIT(out->ceiling);
	writer->frames_text.budget = out->budget;
	json_writer_init(&writer->json, out);
	json_writer_init(&writer->frames, &writer->frames_text);
	json_array_begin(&writer->frames);
	r = merged_stacks_init(&writer->merged, out->budget);
	if (r < 0)
		speedscope_free(writer);
	else
		*ret_writer = writer;
	return r;
}

static int add_function(void *arg, const struct resolved_stacks *stacks,
			const struct resolved_frame *frame)
{
	struct speedscope_writer *writer = arg;
	const char *file = frame_text_source(stacks, frame);

	json_object_begin(&writer->frames);
	json_key_text(&writer->frames, "name", resolved_label(stacks, frame));
	if (file[0])
		json_key_text(&writer->frames, "file", file);
	json_object_end(&writer->frames);
	return bytes_error(&writer->frames_text);
}

static int speedscope_add(void *arg, const struct resolved_stacks *stacks,
			  const struct resolved_stack *stack)
{
	struct speedscope_writer *writer = arg;

	return merged_stacks_add(&writer->merged, stacks, stack, add_function, writer);
}

/* Writes the functions of a stack, the outermost first. */
static int write_sample(struct speedscope_writer *writer, uint32_t item, uint32_t *functions)
{
	const struct merged_stack *items = writer->merged.items.items;
	uint32_t depth = 0;

	for (; item != MERGED_NO_PARENT; item = items[item].parent) {
		if (depth == MAX_DEPTH)
			return -EFBIG;
		functions[depth++] = items[item].function;
	}
	json_array_begin(&writer->json);
	while (depth-- > 0)
		json_uint(&writer->json, functions[depth]);
	json_array_end(&writer->json);
	return bytes_error(writer->json.out);
}

static int write_samples(struct speedscope_writer *writer)
{
	const struct merged_stack_vec *items = &writer->merged.items;
	scoped_free uint32_t *functions = calloc(MAX_DEPTH, sizeof(*functions));
	int r = 0;

	if (!functions)
		return -ENOMEM;
	json_key(&writer->json, "samples");
	json_array_begin(&writer->json);
	for (size_t i = 0; i < items->count && r == 0; i++)
		if (items->items[i].value > 0)
			r = write_sample(writer, (uint32_t)i, functions);
	json_array_end(&writer->json);
	return r;
}

/* Writes the value of each sample, and the sum of all. */
static void write_weights(struct speedscope_writer *writer)
{
	const struct merged_stack_vec *items = &writer->merged.items;
	uint64_t sum = 0;

	json_key(&writer->json, "weights");
	json_array_begin(&writer->json);
	for (size_t i = 0; i < items->count; i++) {
		if (items->items[i].value == 0)
			continue;
		json_uint(&writer->json, items->items[i].value);
		sum = saturating_add(sum, items->items[i].value);
	}
	json_array_end(&writer->json);
	json_key_uint(&writer->json, "startValue", 0);
	json_key_uint(&writer->json, "endValue", sum);
}

/* "nanoseconds" and "bytes" are units that speedscope formats. */
static const char *unit_of(const struct event_type_info *event)
{
	const char *unit = export_unit_name(event);

	return strcmp(unit, "nanoseconds") == 0 || strcmp(unit, "bytes") == 0 ? unit : "none";
}

static int write_profile(struct speedscope_writer *writer)
{
	struct json_writer *json = &writer->json;
	int r;

	json_object_begin(json);
	json_key_text(json, "type", "sampled");
	json_key_text(json, "name", writer->selection->event->name);
	json_key_text(json, "unit", unit_of(writer->selection->event));
	r = write_samples(writer);
	if (r < 0)
		return r;
	write_weights(writer);
	json_object_end(json);
	return 0;
}

static int speedscope_end(void *arg, const struct export_result *result)
{
	struct speedscope_writer *writer = arg;
	const struct export_selection *selection = writer->selection;
	struct json_writer *json = &writer->json;
	int r;

	(void)result;
	json_array_end(&writer->frames);
	json_object_begin(json);
	json_key_text(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_key_text(json, "exporter", "hearth/" HEARTH_VERSION);
	json_key_text(json, "name", selection->service ? selection->service : "hearth");
	json_key_uint(json, "activeProfileIndex", 0);
	json_key(json, "profiles");
	json_array_begin(json);
	r = write_profile(writer);
	if (r < 0)
		return r;
	json_array_end(json);
	json_key(json, "shared");
	json_object_begin(json);
	json_key(json, "frames");
	json_raw(json, bytes_view_of(&writer->frames_text));
	json_object_end(json);
	json_object_end(json);
	return bytes_error(&writer->frames_text) < 0 ? bytes_error(&writer->frames_text)
						     : bytes_error(json->out);
}

static const struct export_stack_operations operations = {
	.begin = speedscope_begin,
	.add = speedscope_add,
	.end = speedscope_end,
	.free = speedscope_free,
};

const struct export_writer export_speedscope = { .stacks = &operations };
