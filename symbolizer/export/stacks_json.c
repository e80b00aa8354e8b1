/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json: all stacks, with all that is known about their frames. Stacks refer to frames by number. A
 * frame is a function at an address; one that is inlined there is a frame too.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_writer.h"
#include "symbolizer/export/frame_text.h"
#include "symbolizer/flame/saturating_add.h"

struct frame_key {
	uint32_t frame;
	uint32_t function;
	uint32_t label; /* the label of a frame depends on the process */
};

struct json_export {
	const struct export_selection *selection;
	struct hash_table *numbers; /* struct frame_key -> uint32_t */
	struct json_writer json;    /* of the output */
	struct json_writer frames;  /* of @frames_text */
	struct bytes frames_text;
	uint64_t total;
};

static void stacks_json_free(void *arg)
{
	struct json_export *export = arg;

	if (!export)
		return;
	hash_table_free(export->numbers);
	bytes_release(&export->frames_text);
	free(export);
}

static void write_selection(struct json_writer *json, const struct export_selection *selection)
{
	json_key(json, "service");
	if (selection->service)
		json_text(json, selection->service);
	else
		json_null_value(json);
	json_key_text(json, "event", selection->event->name);
	json_key_text(json, "unit", export_unit_name(selection->event));
	json_key_text(json, "filter", selection->filter ? selection->filter : "");
	json_key_uint(json, "since", selection->since_wall_ns / NSEC_PER_SEC);
	json_key_uint(json, "until", selection->until_wall_ns / NSEC_PER_SEC);
}

static int stacks_json_begin(const struct export_selection *selection, struct bytes *out,
			     void **ret_writer)
{
	struct json_export *export = calloc(1, sizeof(*export));
	int r;

	if (!export)
		return -ENOMEM;
	export->selection = selection;
	export->frames_text = BYTES_INIT(out->ceiling);
	export->frames_text.budget = out->budget;
	r = hash_table_new(sizeof(struct frame_key), sizeof(uint32_t), 0, &export->numbers);
	if (r < 0) {
		stacks_json_free(export);
		return r;
	}
	json_writer_init(&export->frames, &export->frames_text);
	json_array_begin(&export->frames);
	json_writer_init(&export->json, out);
	json_object_begin(&export->json);
	write_selection(&export->json, selection);
	json_key(&export->json, "stacks");
	json_array_begin(&export->json);
	*ret_writer = export;
	return 0;
}

static void write_known_text(struct json_writer *json, const char *key, const char *text)
{
	if (text && text[0])
		json_key_text(json, key, text);
}

static void write_executable(struct json_writer *json, const struct store_executable *executable)
{
	char build_id[EXECUTABLE_ID_TEXT_SIZE];

	executable_id_format(&executable->identity, build_id);
	write_known_text(json, "executable", executable->name);
	write_known_text(json, "build_id", build_id);
}

static void write_code_object(struct json_writer *json, const struct store_code_object *object)
{
	write_known_text(json, "language", object->language);
	if (object->first_line > 0)
		json_key_uint(json, "first_line", object->first_line);
}

/* Writes the file, the address and the kind of a frame that is no marker. */
static void write_position(struct json_writer *json, const struct resolved_stacks *stacks,
			   const struct resolved_frame *frame, const struct frame *stored)
{
	const struct store_executable *executable = resolved_executable(stacks, frame);
	const struct store_code_object *object = resolved_code_object(stacks, frame);
	const char *kind = frame_kind_name(stored->stored.kind);
	char address[sizeof("0x") + 16];

	if (kind)
		json_key_text(json, "kind", kind);
	else
		json_key_uint(json, "kind", stored->stored.kind);
	(void)snprintf(address, sizeof(address), "0x%" PRIx64, frame_text_address(stacks, frame));
	json_key_text(json, "address", address);
	if (executable)
		write_executable(json, executable);
	if (object)
		write_code_object(json, object);
}

static void write_frame(struct json_writer *json, const struct resolved_stacks *stacks,
			const struct resolved_frame *frame)
{
	const struct frame_function *function = resolved_function(stacks, frame);
	const struct frame *stored = resolved_stored(stacks, frame);

	json_object_begin(json);
	json_key_text(json, "label", resolved_label(stacks, frame));
	if (function) {
		json_key_text(json, "function", function->name);
		write_known_text(json, "linkage_name", function->linkage_name);
		write_known_text(json, "file", function->file);
		if (function->line > 0)
			json_key_uint(json, "line", function->line);
		json_key_bool(json, "inlined", frame->inlined);
	}
	if (stored)
		write_position(json, stacks, frame, stored);
	json_object_end(json);
}

static int write_frame_number(struct json_export *export, const struct resolved_stacks *stacks,
			      const struct resolved_frame *frame)
{
	const struct frame_key key = { frame->frame, frame->function, frame->label };
	uint32_t number;
	int r;

	r = export_number_of(export->numbers, &key, &number);
	if (r < 0)
		return r;
	if (r > 0)
		write_frame(&export->frames, stacks, frame);
	json_uint(&export->json, number);
	return bytes_error(&export->frames_text);
}

static int stacks_json_add(void *arg, const struct resolved_stacks *stacks,
			   const struct resolved_stack *stack)
{
	struct json_export *export = arg;
	struct json_writer *json = &export->json;
	int r = 0;

	export->total = saturating_add(export->total, stack->value);
	json_object_begin(json);
	json_key_uint(json, "value", stack->value);
	json_key(json, "levels");
	json_array_begin(json);
	for (uint32_t i = 0; i < stack->group->n_levels; i++)
		json_text(json, tree_label_text(stacks->tree, stack->group->levels[i]));
	json_array_end(json);
	if (stack->cut != STACK_CUT_NONE && stack_cut_name(stack->cut))
		json_key_text(json, "cut", stack_cut_name(stack->cut));
	json_key(json, "frames");
	json_array_begin(json);
	for (uint32_t i = 0; i < stack->n_frames && r == 0; i++)
		r = write_frame_number(export, stacks, &stack->frames[i]);
	json_array_end(json);
	json_object_end(json);
	return r < 0 ? r : bytes_error(json->out);
}

static int stacks_json_end(void *arg, const struct export_result *result)
{
	struct json_export *export = arg;
	struct json_writer *json = &export->json;

	json_array_end(json);
	json_array_end(&export->frames);
	json_key(json, "frames");
	json_raw(json, bytes_view_of(&export->frames_text));
	json_key_uint(json, "total", export->total);
	json_key_uint(json, "period", result->period_ns);
	json_key_text(json, "message", result->message);
	json_object_end(json);
	return bytes_error(&export->frames_text) < 0 ? bytes_error(&export->frames_text)
						     : bytes_error(json->out);
}

static const struct export_stack_operations operations = {
	.begin = stacks_json_begin,
	.add = stacks_json_add,
	.end = stacks_json_end,
	.free = stacks_json_free,
};

const struct export_writer export_json = { .stacks = &operations };
