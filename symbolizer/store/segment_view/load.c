/* SPDX-License-Identifier: Apache-2.0 */
/* Describes the stacks and objects that have a handle. */

#include <string.h>

#include "common/frame_kind.h"
#include "symbolizer/store/segment_view/segment_view_private.h"

static const struct view_object *find_object(const struct segment_view *view, uint64_t id)
{
	return id > 0 && id <= view->objects.count ? &view->objects.items[id - 1] : NULL;
}

/* Named frames have their name instead of an address. */
static struct store_frame describe_frame(const struct segment_view *view, uint32_t id)
{
	const uint32_t *words = tuple_table_words(&view->frames, id);
	const struct view_object *object = find_object(view, words[1]);
	struct store_frame frame = { .kind = (uint8_t)words[0],
				     .object = words[1],
				     .address = words_u64(words + 2) };

	if (object && object->class == SEGMENT_CODE_OBJECT)
		frame.object |= FRAME_CODE_OBJECT;
	if (object && object->class == SEGMENT_NAMED_FRAME) {
		frame.object = 0;
		frame.address = words[1];
	}
	return frame;
}

static int describe_stack(const struct segment_view *view, uint64_t id, struct arena *arena,
			  struct store_stack *ret_stack)
{
	struct store_frame *frames;
	const uint32_t *words;
	uint32_t node, n = 0;

	*ret_stack = (struct store_stack){};
	if (id == 0 || id > view->stacks.count)
		return 0;
	words = tuple_table_words(&view->stacks, (uint32_t)id);
	node = words[0];
	ret_stack->cut = (uint8_t)words[1];
	ret_stack->n_frames = node ? tuple_table_words(&view->nodes, node)[2] : 0;
	frames = arena_alloc_array(arena, ret_stack->n_frames, sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	for (; node; node = tuple_table_words(&view->nodes, node)[0])
		frames[n++] = describe_frame(view, tuple_table_words(&view->nodes, node)[1]);
	ret_stack->frames = frames;
	return 0;
}

int segment_view_load_stacks(const struct segment_view *view, const uint64_t *ids, size_t count,
			     struct arena *arena, struct store_stack *ret_stacks)
{
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++)
		r = describe_stack(view, ids[i], arena, &ret_stacks[i]);
	return r;
}

static struct bytes_reader attributes_of(const struct segment_view *view,
					 const struct view_object *object)
{
	return bytes_reader_of((struct bytes_view){
		.data = (const uint8_t *)view_text(view, object->attributes),
		.size = string_table_length(view->texts, object->attributes) });
}

/* Load segments that are damaged are left out: frames of the executable then keep addresses. */
static int read_load_segments(const struct segment_view *view, const struct view_object *object,
			      struct arena *arena, struct store_executable *executable)
{
	struct bytes_reader in = attributes_of(view, object);
	struct load_segment *segments;
	uint32_t count = 0;

	if (in.next == in.end)
		return 0;
	segments = arena_alloc_array(arena, MAX_LOAD_SEGMENTS, sizeof(*segments));
	if (!segments)
		return -ENOMEM;
	for (; in.next < in.end && count < MAX_LOAD_SEGMENTS && !in.error; count++) {
		segments[count].file_offset = bytes_read_varint(&in);
		segments[count].vaddr = bytes_read_varint(&in);
		segments[count].file_size = bytes_read_varint(&in);
		segments[count].memory_size = segments[count].file_size;
	}
	if (in.error || in.next < in.end)
		return 0;
	executable->segments = segments;
	executable->n_segments = count;
	return 0;
}

static int describe_executable(const struct segment_view *view, uint32_t id, struct arena *arena,
			       struct store_executable *ret_executable)
{
	const struct view_object *object = find_object(view, id);

	*ret_executable = (struct store_executable){ .name = "" };
	if (!object || object->class >= SEGMENT_CODE_OBJECT)
		return 0;
	ret_executable->id = id;
	ret_executable->name = view_text(view, object->name);
	ret_executable->role = (enum executable_role)object->role;
	/* An identity that is not valid is left as unknown. */
	(void)executable_id_set(&ret_executable->identity, (unsigned int)object->class,
				view_text(view, object->id),
				string_table_length(view->texts, object->id));
	return read_load_segments(view, object, arena, ret_executable);
}

int segment_view_load_executables(const struct segment_view *view, const uint32_t *ids,
				  size_t count, struct arena *arena,
				  struct store_executable *ret_executables)
{
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++)
		r = describe_executable(view, ids[i], arena, &ret_executables[i]);
	return r;
}

int segment_view_find_executable(const struct segment_view *view,
				 const struct executable_id *identity, struct arena *arena,
				 struct store_executable *ret_executable)
{
	uint32_t words[2] = { identity->kind }, id;
	int r;

	if (!string_table_find(view->texts, (const char *)identity->bytes, identity->size,
			       &words[1]))
		return 0;
	id = tuple_table_find(&view->object_ids, words);
	if (id == 0)
		return 0;
	r = describe_executable(view, id, arena, ret_executable);
	return r < 0 ? r : 1;
}

/* A varint length and the bytes. Damaged: "", and @in keeps the error. */
static const char *read_text(struct bytes_reader *in, struct arena *arena)
{
	uint64_t length = bytes_read_varint(in);
	const char *text = (const char *)in->next;

	if (in->error || length > (uint64_t)(in->end - in->next)) {
		in->error = -EBADMSG;
		return "";
	}
	in->next += length;
	return arena_copy_text(arena, text, (size_t)length);
}

static int describe_code_object(const struct segment_view *view, uint32_t id, struct arena *arena,
				struct store_code_object *ret_object)
{
	const struct view_object *object = find_object(view, id);
	struct bytes_reader in;
	uint64_t first_line;

	*ret_object = (struct store_code_object){
		.language = "", .function = "", .qualified_name = "", .file = ""
	};
	if (!object || object->class != SEGMENT_CODE_OBJECT)
		return 0;
	in = attributes_of(view, object);
	ret_object->id = id;
	ret_object->function = view_text(view, object->name);
	ret_object->language = read_text(&in, arena);
	ret_object->qualified_name = read_text(&in, arena);
	ret_object->file = read_text(&in, arena);
	if (!ret_object->language || !ret_object->qualified_name || !ret_object->file)
		return -ENOMEM;
	first_line = bytes_read_varint(&in);
	if (in.error || first_line > UINT32_MAX)
		return 0;
	ret_object->first_line = (uint32_t)first_line;
	ret_object->line_table =
		(struct bytes_view){ .data = in.next, .size = (size_t)(in.end - in.next) };
	return 0;
}

int segment_view_load_code_objects(const struct segment_view *view, const uint32_t *ids,
				   size_t count, struct arena *arena,
				   struct store_code_object *ret_objects)
{
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++)
		r = describe_code_object(view, ids[i], arena, &ret_objects[i]);
	return r;
}

/* 0: the path in any process. NULL: unknown. */
static const char *path_of(const struct segment_view *view, const struct store_mapped_file *file)
{
	const struct view_object *object = find_object(view, file->executable);
	uint32_t list;

	if (!object || file->process > view->processes.count)
		return NULL;
	if (file->process == 0)
		return object->path ? view_text(view, object->path) : NULL;
	list = view->processes.items[file->process - 1].paths;
	while (list) {
		const uint32_t *words = tuple_table_words(&view->paths, list);

		if (words[1] == file->executable)
			return view_text(view, words[2]);
		list = words[0];
	}
	return NULL;
}

void segment_view_paths_of(const struct segment_view *view, const struct store_mapped_file *files,
			   size_t count, const char **ret_paths)
{
	for (size_t i = 0; i < count; i++)
		ret_paths[i] = path_of(view, &files[i]);
}

void segment_view_named_frames(const struct segment_view *view, const uint64_t *addresses,
			       size_t count, const char **ret_names)
{
	for (size_t i = 0; i < count; i++) {
		const struct view_object *object = find_object(view, addresses[i]);

		ret_names[i] = object && object->class == SEGMENT_NAMED_FRAME
				       ? view_text(view, object->name)
				       : NULL;
	}
}
