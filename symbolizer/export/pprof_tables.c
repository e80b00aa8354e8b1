/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/export/pprof_tables.h"

#include <stdlib.h>
#include <string.h>

#include "symbolizer/flame/label.h"

#define MAX_TEXT_BYTES (512 * MIB)

/* Compress when so much is waiting. */
#define PIECES_BYTES (64 * KIB)

struct location_key {
	uint32_t frame;
	uint32_t label; /* the label of a frame without a name depends on the process */
	uint32_t n_lines;
};

struct function_key {
	uint32_t name, system_name, file; /* string_id */
};

int pprof_tables_init(struct pprof_tables *tables, struct bytes *out)
{
	int r;

	*tables = (struct pprof_tables){ .pieces = BYTES_INIT(GIB), .text = BYTES_INIT(MIB) };
	r = gzip_stream_init(&tables->gzip, out);
	if (r == 0)
		r = string_table_new(MAX_TEXT_BYTES, &tables->strings);
	if (r == 0)
		r = hash_table_new(sizeof(struct location_key), sizeof(uint32_t), 0,
				   &tables->locations);
	if (r == 0)
		r = hash_table_new(sizeof(struct function_key), sizeof(uint32_t), 0,
				   &tables->functions);
	if (r == 0)
		r = hash_table_new(sizeof(uint32_t), sizeof(uint32_t), 0, &tables->mappings);
	return r;
}

void pprof_tables_release(struct pprof_tables *tables)
{
	gzip_stream_release(&tables->gzip);
	bytes_release(&tables->pieces);
	bytes_release(&tables->text);
	string_table_free(tables->strings);
	hash_table_free(tables->locations);
	hash_table_free(tables->functions);
	hash_table_free(tables->mappings);
}

int pprof_tables_finish(struct pprof_tables *tables)
{
	int r = gzip_stream_write(&tables->gzip, bytes_view_of(&tables->pieces));

	return r < 0 ? r : gzip_stream_finish(&tables->gzip);
}

/* Appends a message with some of the profile's fields. */
int pprof_write_piece(struct pprof_tables *tables, const Pprof__Profile *piece)
{
	size_t size = pprof__profile__get_packed_size(piece);
	int r;

	r = bytes_reserve(&tables->pieces, size);
	if (r < 0)
		return r;
	tables->pieces.size +=
		pprof__profile__pack(piece, tables->pieces.data + tables->pieces.size);
	if (tables->pieces.size < PIECES_BYTES)
		return 0;
	r = gzip_stream_write(&tables->gzip, bytes_view_of(&tables->pieces));
	bytes_clear(&tables->pieces);
	return r;
}

/* Returns the number of a text that is valid UTF-8, in *ret_id. */
int pprof_number_text(struct pprof_tables *tables, const char *text, size_t length, int64_t *ret_id)
{
	const uint32_t count = string_table_count(tables->strings);
	Pprof__Profile piece = PPROF__PROFILE__INIT;
	char *table[1];
	string_id id;
	int r;

	r = string_table_intern(tables->strings, text, length, &id);
	if (r < 0)
		return r == -ENOSPC ? -EFBIG : r;
	*ret_id = id;
	if (id < count)
		return 0;
	table[0] = (char *)string_table_text(tables->strings, id);
	piece.n_string_table = 1;
	piece.string_table = table;
	return pprof_write_piece(tables, &piece);
}

/* Does the same for a text with any bytes. */
int pprof_number_any_text(struct pprof_tables *tables, const char *text, int64_t *ret_id)
{
	int r;

	bytes_clear(&tables->text);
	r = label_append(&tables->text, text, strlen(text));
	return r < 0 ? r
		     : pprof_number_text(tables, (const char *)tables->text.data, tables->text.size,
					 ret_id);
}

/* Writes the file name of a mapping. */
static int number_file(struct pprof_tables *tables, const struct resolved_stacks *stacks,
		       const struct store_process *process,
		       const struct store_executable *executable, int64_t *ret_id)
{
	char room[FRAME_TEXT_FILE_SIZE];
	const char *name;
	int r = frame_text_file(stacks, process, executable, room, &name);

	return r < 0 ? r : pprof_number_any_text(tables, name, ret_id);
}

static void set_range(const struct store_executable *executable, Pprof__Mapping *mapping)
{
	for (uint32_t i = 0; i < executable->n_segments; i++) {
		const struct load_segment *segment = &executable->segments[i];

		if (i == 0 || segment->vaddr < mapping->memory_start) {
			mapping->memory_start = segment->vaddr;
			mapping->file_offset = segment->file_offset;
		}
		mapping->memory_limit =
			MAX(mapping->memory_limit, segment->vaddr + segment->memory_size);
	}
}

/* Writes the mapping of a frame's executable. *ret_id is 0 for a frame without one. */
static int number_mapping(struct pprof_tables *tables, const struct resolved_stacks *stacks,
			  const struct store_process *process, const struct resolved_frame *frame,
			  uint64_t *ret_id)
{
	const struct store_executable *executable = resolved_executable(stacks, frame);
	Pprof__Profile piece = PPROF__PROFILE__INIT;
	Pprof__Mapping mapping = PPROF__MAPPING__INIT;
	Pprof__Mapping *mappings[] = { &mapping };
	char build_id[EXECUTABLE_ID_TEXT_SIZE];
	uint32_t number;
	int r;

	*ret_id = 0;
	if (!executable)
		return 0;
	r = export_number_of(tables->mappings, &executable->id, &number);
	if (r < 0)
		return r;
	*ret_id = number + 1;
	if (r == 0)
		return 0;
	mapping.id = *ret_id;
	mapping.has_functions = mapping.has_filenames = true;
	mapping.has_line_numbers = mapping.has_inline_frames = true;
	set_range(executable, &mapping);
	executable_id_format(&executable->identity, build_id);
	r = number_file(tables, stacks, process, executable, &mapping.filename);
	if (r == 0)
		r = pprof_number_any_text(tables, build_id, &mapping.build_id);
	if (r < 0)
		return r;
	piece.n_mapping = 1;
	piece.mapping = mappings;
	return pprof_write_piece(tables, &piece);
}

static int number_function(struct pprof_tables *tables, const struct resolved_stacks *stacks,
			   const struct resolved_frame *frame, uint64_t *ret_id)
{
	const struct frame_function *known = resolved_function(stacks, frame);
	const char *name = frame_text_name(stacks, frame);
	const char *linkage_name = known && known->linkage_name ? known->linkage_name : name;
	Pprof__Profile piece = PPROF__PROFILE__INIT;
	Pprof__Function function = PPROF__FUNCTION__INIT;
	Pprof__Function *functions[] = { &function };
	struct function_key key;
	uint32_t number;
	int r;

	r = pprof_number_any_text(tables, name, &function.name);
	if (r == 0)
		r = pprof_number_any_text(tables, linkage_name, &function.system_name);
	if (r == 0)
		r = pprof_number_any_text(tables, frame_text_source(stacks, frame),
					  &function.filename);
	if (r < 0)
		return r;
	key = (struct function_key){ (uint32_t)function.name, (uint32_t)function.system_name,
				     (uint32_t)function.filename };
	r = export_number_of(tables->functions, &key, &number);
	if (r < 0)
		return r;
	*ret_id = function.id = number + 1;
	if (r == 0)
		return 0;
	piece.n_function = 1;
	piece.function = functions;
	return pprof_write_piece(tables, &piece);
}

static int write_location(struct pprof_tables *tables, const struct resolved_stacks *stacks,
			  const struct resolved_frame *frames, uint32_t n_lines,
			  Pprof__Location *location)
{
	scoped_free Pprof__Line *lines = calloc(n_lines, sizeof(*lines));
	scoped_free Pprof__Line **pointers = calloc(n_lines, sizeof(*pointers));
	Pprof__Profile piece = PPROF__PROFILE__INIT;

	if (!lines || !pointers)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_lines; i++) {
		int r;

		pprof__line__init(&lines[i]);
		lines[i].line = frame_text_line(stacks, &frames[i]);
		r = number_function(tables, stacks, &frames[i], &lines[i].function_id);
		if (r < 0)
			return r;
		pointers[i] = &lines[i];
	}
	location->address = frame_text_address(stacks, &frames[0]);
	location->n_line = n_lines;
	location->line = pointers;
	piece.n_location = 1;
	piece.location = &location;
	return pprof_write_piece(tables, &piece);
}

int pprof_number_location(struct pprof_tables *tables, const struct resolved_stacks *stacks,
			  const struct store_process *process, const struct pprof_frame *frame,
			  uint64_t *ret_id)
{
	const struct resolved_frame *leaf = frame->functions;
	const struct location_key key = { leaf->frame, leaf->label, frame->n_functions };
	Pprof__Location location = PPROF__LOCATION__INIT;
	uint32_t number;
	int r;

	r = export_number_of(tables->locations, &key, &number);
	if (r < 0)
		return r;
	*ret_id = location.id = number + 1;
	if (r == 0)
		return 0;
	r = number_mapping(tables, stacks, process, leaf, &location.mapping_id);
	return r < 0 ? r : write_location(tables, stacks, leaf, frame->n_functions, &location);
}
