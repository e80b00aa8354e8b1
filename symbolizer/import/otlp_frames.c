/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/import/otlp_frames.h"

#include <string.h>

#include "symbolizer/import/build_id_text.h"

/*
 * Locations of one stack that are read. More than one stack has frames, because locations without
 * names and addresses make none. Many samples may share one stack, so this bounds the work.
 */
#define MAX_LOCATIONS ((size_t)4 * STACK_MAX_FRAMES)

/*
 * Locations and lines that are read for one request. Usual ones give a frame each; those without
 * names and addresses give none, so that IMPORT_MAX_FRAMES does not bound them.
 */
#define MAX_READ ((size_t)4 * IMPORT_MAX_FRAMES)

/* Attributes of a location or of a mapping that are read. Profilers send one to three. */
#define MAX_ATTRIBUTES ((size_t)32)

struct otlp_cached_code {
	uint32_t stamp;
	bool is_named;
	struct foreign_code code;
};

struct otlp_cached_location {
	uint32_t stamp;
	uint32_t first_frame, n_frames; /* in otlp_frames.frames */
};

/* Values of the attribute "profile.frame.type", and the kinds of frames with and without names. */
static const struct {
	const char *type;
	uint8_t named, unnamed;
} frame_types[] = {
	{ "native", FRAME_IMPORTED, FRAME_NATIVE },    { "go", FRAME_IMPORTED, FRAME_NATIVE },
	{ "kernel", FRAME_KERNEL_CODE, FRAME_KERNEL }, { "jvm", FRAME_HOTSPOT, FRAME_ANONYMOUS },
	{ "cpython", FRAME_PYTHON, FRAME_ANONYMOUS },  { "v8js", FRAME_V8, FRAME_ANONYMOUS },
	{ "ruby", FRAME_RUBY, FRAME_ANONYMOUS },       { "php", FRAME_PHP, FRAME_ANONYMOUS },
	{ "perl", FRAME_PERL, FRAME_ANONYMOUS },       { "lua", FRAME_LUA, FRAME_ANONYMOUS },
	{ "luajit", FRAME_LUA, FRAME_ANONYMOUS },      { "beam", FRAME_BEAM, FRAME_ANONYMOUS },
	{ "dotnet", FRAME_IMPORTED, FRAME_ANONYMOUS },
};

struct kinds {
	uint8_t named, unnamed;
};

void otlp_frames_release(struct otlp_frames *frames)
{
	vec_release(&frames->frames);
}

int otlp_frames_begin(struct otlp_frames *frames, struct foreign_profile *profile,
		      const struct otlp_tables *tables)
{
	struct arena *arena = profile->arena;

	frames->profile = profile;
	frames->stamp++;
	vec_clear(&frames->frames);
	if (frames->tables == tables)
		return 0;
	frames->tables = tables;
	frames->codes = arena_alloc_array(arena, tables->n_functions + 1, sizeof(*frames->codes));
	frames->locations =
		arena_alloc_array(arena, tables->n_locations + 1, sizeof(*frames->locations));
	return frames->codes && frames->locations ? 0 : foreign_no_room(profile);
}

/*
 * The text of the attribute @key, of a mapping or a location. NULL: it has none. *ret_text is not
 * changed if an index is wrong.
 */
static int find_attribute(struct otlp_frames *frames, const struct otlp_indices *attributes,
			  const char *key, const char *owner, const char **ret_text)
{
	const struct otlp_tables *tables = frames->tables;

	*ret_text = NULL;
	for (size_t i = 0; i < MIN(attributes->count, MAX_ATTRIBUTES); i++) {
		const int32_t index = attributes->items[i];
		const Otlp__AnyValue *value;

		if (index < 0 || (uint32_t)index >= tables->n_attributes)
			return foreign_bad(frames->profile,
					   "%s.attribute_indices[%zu]: attribute %d of %zu", owner,
					   i, index, tables->n_attributes);
		value = tables->attributes[index].value;
		if (!value || strcmp(tables->attributes[index].key, key) != 0)
			continue;
		if (value->value_case == OTLP__ANY_VALUE__VALUE_STRING_VALUE)
			*ret_text = value->string_value;
		if (value->value_case == OTLP__ANY_VALUE__VALUE_STRING_VALUE_STRINDEX)
			*ret_text = otlp_string(tables, value->string_value_strindex);
	}
	return 0;
}

static int kinds_of(struct otlp_frames *frames, const struct otlp_location *location,
		    struct kinds *ret_kinds)
{
	const char *type;
	int r = find_attribute(frames, &location->attributes, "profile.frame.type",
			       "location_table", &type);

	*ret_kinds = (struct kinds){ FRAME_IMPORTED, FRAME_NATIVE };
	for (size_t i = 0; i < ARRAY_SIZE(frame_types) && type && r == 0; i++)
		if (strcmp(type, frame_types[i].type) == 0)
			*ret_kinds = (struct kinds){ frame_types[i].named, frame_types[i].unnamed };
	return r;
}

/* Attributes of a mapping that identify its file, the best first. The last is the name that htlhash
 * had before. */
static const struct identity_key {
	const char *key;
	struct executable_id (*parse)(const char *text);
} identity_keys[] = {
	{ "process.executable.build_id.gnu", build_id_of_text },
	{ "process.executable.build_id.go", build_id_of_text },
	{ "process.executable.build_id.htlhash", htlhash_of_text },
	{ "process.executable.build_id.profiling", htlhash_of_text },
};

static int build_id_of(struct otlp_frames *frames, const Otlp__Mapping *mapping,
		       struct executable_id *ret_id)
{
	const struct otlp_indices attributes = { mapping->attribute_indices,
						 mapping->n_attribute_indices };
	struct executable_id id = {};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(identity_keys) && id.kind == EXECUTABLE_ID_NONE; i++) {
		const char *text;

		r = find_attribute(frames, &attributes, identity_keys[i].key, "mapping_table",
				   &text);
		if (r < 0)
			return r;
		if (text)
			id = identity_keys[i].parse(text);
	}
	*ret_id = id;
	return 0;
}

static int executable_of(struct otlp_frames *frames, const Otlp__Mapping *mapping,
			 uint32_t *ret_number)
{
	const char *path = otlp_string(frames->tables, mapping->filename_strindex);
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *name = slash ? slash + 1 : path;
	struct executable_id id;
	string_id name_id;
	int r;

	if (!path)
		return foreign_bad(frames->profile,
				   "mapping_table.filename_strindex: string %d of %zu",
				   mapping->filename_strindex, frames->tables->n_strings);
	r = build_id_of(frames, mapping, &id);
	if (r == 0)
		r = foreign_text(frames->profile, name, strlen(name), &name_id);
	return r < 0 ? r : foreign_executable(frames->profile, &id, name_id, ret_number);
}

/* Adds the frame of an address. A location without an address and a mapping has none. */
static int add_address(struct otlp_frames *frames, const struct otlp_location *location,
		       uint8_t kind)
{
	struct foreign_frame frame = { .kind = kind, .address = location->address };
	const Otlp__Mapping *mapping;
	int r;

	if (!location->has_mapping && location->address == 0)
		return 0;
	if (kind != FRAME_NATIVE || !location->has_mapping) {
		frame.kind = kind == FRAME_NATIVE ? FRAME_ANONYMOUS : kind;
		return vec_push(&frames->frames, frame);
	}
	mapping = frames->tables->mappings[location->mapping];
	r = executable_of(frames, mapping, &frame.object);
	if (r < 0)
		return r;
	if (location->address >= OTLP_MAX_ELF_ADDRESS &&
	    location->address >= mapping->memory_start &&
	    location->address < mapping->memory_limit) {
		frame.kind = FRAME_NATIVE_FILE_OFFSET;
		frame.address = location->address - mapping->memory_start + mapping->file_offset;
	}
	return vec_push(&frames->frames, frame);
}

static int check_string(struct otlp_frames *frames, int32_t index, const char *field, int32_t item,
			const char **ret_text)
{
	*ret_text = otlp_string(frames->tables, index);
	if (*ret_text)
		return 0;
	return foreign_bad(frames->profile, "function_table[%d].%s: string %d of %zu", item, field,
			   index, frames->tables->n_strings);
}

/* A function without a name has that of its file. */
static int read_function(struct otlp_frames *frames, int32_t index, struct otlp_cached_code *code)
{
	const Otlp__Function *function = frames->tables->functions[index];
	const char *name, *system_name, *file;
	int r = check_string(frames, function->name_strindex, "name_strindex", index, &name);

	if (r == 0)
		r = check_string(frames, function->system_name_strindex, "system_name_strindex",
				 index, &system_name);
	if (r == 0)
		r = check_string(frames, function->filename_strindex, "filename_strindex", index,
				 &file);
	if (r < 0)
		return r;
	if (!*name)
		name = *system_name ? system_name : file;
	memset(&code->code, 0, sizeof(code->code));
	r = foreign_text(frames->profile, name, strlen(name), &code->code.function);
	if (r == 0)
		r = foreign_text(frames->profile, file, strlen(file), &code->code.file);
	code->is_named = *name != '\0';
	if (r == 0)
		code->stamp = frames->stamp;
	return r;
}

static int add_line(struct otlp_frames *frames, const Otlp__Line *line, int32_t location,
		    uint8_t kind)
{
	const int32_t index = line->function_index;
	/* Positions of code in the kernel are no lines. */
	const uint32_t number =
		kind != FRAME_KERNEL_CODE && line->line > 0 && line->line <= UINT32_MAX
			? (uint32_t)line->line
			: 0;
	struct foreign_frame frame;
	int r = 0;

	if (index < 0 || (uint32_t)index >= frames->tables->n_functions)
		return foreign_bad(frames->profile,
				   "location_table[%d].line.function_index: function %d of %zu",
				   location, index, frames->tables->n_functions);
	if (frames->codes[index].stamp != frames->stamp)
		r = read_function(frames, index, &frames->codes[index]);
	if (r < 0 || !frames->codes[index].is_named)
		return r;
	r = foreign_named_frame(frames->profile, &frames->codes[index].code, kind, number, &frame);
	return r < 0 ? r : vec_push(&frames->frames, frame);
}

static int count_read(struct otlp_frames *frames, size_t n)
{
	frames->n_read += n;
	return frames->n_read <= MAX_READ
		       ? 0
		       : foreign_too_much(frames->profile,
					  "the stacks have more than %zu locations and lines",
					  MAX_READ);
}

static int read_location(struct otlp_frames *frames, int32_t index)
{
	const struct otlp_location *location = &frames->tables->locations[index];
	/* One more than a stack has, so that the stack is marked as cut. */
	const size_t n_lines = MIN(location->n_lines, (size_t)STACK_MAX_FRAMES + 1);
	struct otlp_cached_location *cached = &frames->locations[index];
	const size_t first = frames->frames.count;
	struct kinds kinds;
	int r;

	if (location->has_mapping &&
	    (location->mapping < 0 || (uint32_t)location->mapping >= frames->tables->n_mappings))
		return foreign_bad(frames->profile,
				   "location_table[%d].mapping_index: mapping %d of %zu", index,
				   location->mapping, frames->tables->n_mappings);
	r = count_read(frames, n_lines);
	if (r == 0)
		r = kinds_of(frames, location, &kinds);
	for (size_t i = 0; i < n_lines && r == 0; i++)
		r = add_line(frames, location->lines[i], index, kinds.named);
	if (r == 0 && frames->frames.count == first)
		r = add_address(frames, location, kinds.unnamed);
	if (r < 0)
		return r;
	*cached = (struct otlp_cached_location){
		.stamp = frames->stamp,
		.first_frame = (uint32_t)first,
		.n_frames = (uint32_t)(frames->frames.count - first),
	};
	return 0;
}

int otlp_frames_append(struct otlp_frames *frames, const struct otlp_indices *locations,
		       struct otlp_frame_vec *stack)
{
	for (size_t i = 0; i < MIN(locations->count, MAX_LOCATIONS); i++) {
		const int32_t index = locations->items[i];
		const struct otlp_cached_location *cached;
		int r = count_read(frames, 1);

		if (r < 0)
			return r;
		if (stack->count > STACK_MAX_FRAMES)
			break;
		if (index < 0 || (uint32_t)index >= frames->tables->n_locations)
			return foreign_bad(frames->profile,
					   "location_indices[%zu]: location %d of %zu", i, index,
					   frames->tables->n_locations);
		cached = &frames->locations[index];
		if (cached->stamp != frames->stamp)
			r = read_location(frames, index);
		if (r == 0)
			r = vec_reserve(stack, cached->n_frames);
		if (r < 0)
			return r;
		if (cached->n_frames > 0)
			memcpy(&stack->items[stack->count],
			       &frames->frames.items[cached->first_frame],
			       cached->n_frames * sizeof(*stack->items));
		stack->count += cached->n_frames;
	}
	return 0;
}
