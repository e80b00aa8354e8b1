/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each line of a code object that is in a stack is a function, which all frames at this line share.
 */
#include "symbolizer/query/code_names.h"

#include <string.h>

#include "common/frame_kind.h"
#include "common/hash_table.h"
#include "symbolizer/symbols/line_table/line_table.h"

/* A line of a code object. */
struct code_line {
	uint32_t object; /* index in the table's code_objects */
	uint32_t line;
};

static bool has_code_object(const struct frame *frame)
{
	return frame->stored.object & FRAME_CODE_OBJECT;
}

static const char *name_of_code(const struct store_code_object *object)
{
	return object->qualified_name[0] ? object->qualified_name : object->function;
}

/* Loads the code objects of all frames. @ids lists them, with FRAME_CODE_OBJECT. */
static int load_code_objects(struct frame_table *table, const struct frame_names *names,
			     struct object_ids *ids)
{
	table->code_objects =
		arena_alloc_array(names->arena, ids->count, sizeof(*table->code_objects));
	if (!table->code_objects)
		return -ENOMEM;
	table->n_code_objects = ids->count;
	for (size_t i = 0; i < ids->count; i++)
		ids->items[i] &= ~FRAME_CODE_OBJECT;
	return store_load_code_objects(names->view, ids->items, ids->count, names->arena,
				       table->code_objects);
}

/*
 * Whether labels have file and line. Many functions of scripts have a common name, or none. Other
 * languages qualify their names.
 */
static bool is_script(const char *language)
{
	return line_table_is_known(language) || strcmp(language, "javascript") == 0 ||
	       strcmp(language, "php") == 0 || strcmp(language, "perl") == 0;
}

/*
 * Instructions of PHP, Perl and JavaScript have a line, which the agent sends. Only imported code
 * of interpreters has no language: other profilers send lines.
 */
static bool has_line_as_position(unsigned int kind, const struct store_code_object *object)
{
	if (kind == FRAME_JIT || kind == FRAME_IMPORTED || kind == FRAME_PHP ||
	    kind == FRAME_PERL || kind == FRAME_V8)
		return true;
	return kind >= FRAME_PYTHON && kind <= FRAME_BEAM && object->language[0] == '\0';
}

static uint32_t line_of(const struct store_code_object *object, const struct frame *frame)
{
	const struct line_table table = {
		.language = object->language,
		.first_line = object->first_line,
		.bytes = object->line_table,
	};

	if (frame->stored.address != 0 && has_line_as_position(frame->stored.kind, object))
		return (uint32_t)MIN(frame->stored.address, (uint64_t)UINT32_MAX);
	return line_table_find(&table, frame->stored.address);
}

/* Finds or adds the function of the frame, which is in a code object with a name. */
static int name_frame(struct frame_table *table, struct hash_table *functions, struct frame *frame)
{
	const struct store_code_object *object = &table->code_objects[frame->code_object];
	const struct code_line key = { .object = frame->code_object,
				       .line = line_of(object, frame) };
	const struct frame_function function = {
		.name = name_of_code(object),
		.file = object->file[0] ? object->file : NULL,
		.line = key.line,
		.shows_line = is_script(object->language),
		.caller = FRAME_NO_FUNCTION,
	};
	void *value;
	int r;

	r = hash_table_insert(functions, &key, &value);
	if (r < 0)
		return r;
	if (r > 0) {
		r = vec_push(&table->functions, function);
		if (r < 0)
			return r;
		*(uint32_t *)value = (uint32_t)table->functions.count - 1;
	}
	frame->status = FRAME_NAMED;
	frame->function = *(uint32_t *)value;
	return 0;
}

static int name_frames(struct frame_table *table, const struct object_ids *ids,
		       struct hash_table *functions)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < table->n_frames; i++) {
		struct frame *frame = &table->frames[i];
		uint32_t id = frame->stored.object & ~FRAME_CODE_OBJECT;
		const uint32_t *found;

		if (!has_code_object(frame))
			continue;
		found = bsearch(&id, ids->items, ids->count, sizeof(*ids->items),
				frame_table_compare_ids);
		assert(found);
		frame->code_object = (uint32_t)(found - ids->items);
		if (name_of_code(&table->code_objects[frame->code_object])[0])
			r = name_frame(table, functions, frame);
	}
	return r;
}

int code_names_resolve(struct frame_table *table, const struct frame_names *names)
{
	scoped(hash_table_freep) struct hash_table *functions = NULL;
	struct object_ids ids = {};
	int r;

	r = frame_table_list_objects(table, has_code_object, &ids);
	if (r == 0 && ids.count > 0)
		r = hash_table_new(sizeof(struct code_line), sizeof(uint32_t), 0, &functions);
	if (r == 0 && ids.count > 0)
		r = load_code_objects(table, names, &ids);
	if (r == 0 && ids.count > 0)
		r = name_frames(table, &ids, functions);
	vec_release(&ids);
	return r;
}
