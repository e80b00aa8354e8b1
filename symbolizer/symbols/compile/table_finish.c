/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks the merged ranges in order of address and numbers locations, functions and paths when they
 * are first found; a caller is numbered before a location inlined into it. Names are made at this
 * point, so that they are made once, and only for functions that have code in the table. Functions
 * with equal names get one number.
 */

#include <string.h>

#include "common/hash_table.h"
#include "symbolizer/symbols/compile/demangle.h"
#include "symbolizer/symbols/compile/table_builder.h"
#include "symbolizer/symbols/symbol_limits.h"

#define NOT_NUMBERED (UINT32_MAX - 1)

/* The names of a function, as ids in numbering.texts. */
struct text_pair {
	string_id display;
	string_id linkage;
};

struct numbered_function {
	struct text_pair texts;
	uint32_t first_line; /* 0: not known; SEVERAL_LINES */
};

/* Functions with equal names begin at different lines: static ones of several files. */
#define SEVERAL_LINES UINT32_MAX

VEC_DEFINE(numbered_function_vec, struct numbered_function);
VEC_DEFINE(text_vec, string_id);
VEC_DEFINE(symbol_nameless_vec, struct symbol_nameless);

struct numbering {
	struct table_builder *builder;
	const struct builder_output *output;
	/* By index in the builder: number in the table, or NOT_NUMBERED. */
	uint32_t *location_numbers;
	uint32_t *function_numbers;
	uint32_t *path_numbers;
	struct location_table locations;
	struct numbered_function_vec functions;
	struct hash_table *functions_by_text; /* struct text_pair -> number */
	/* By id of a linkage name: the number of its function, or NOT_NUMBERED. Each unit that
	 * inlines a function has another entry for it, but its name is demangled once. */
	struct text_vec demangled;
	struct text_vec paths;
	struct symbol_nameless_vec nameless;
	/* Two tables, so that names are stored in the order of the functions: symbol_pack.c packs
	 * them well because of it. */
	struct string_table *texts;
	struct string_table *path_texts;
	struct bytes linkage;
	struct bytes display;
};

static uint32_t *number_array(size_t count)
{
	uint32_t *numbers = malloc((count + 1) * sizeof(*numbers));

	for (size_t i = 0; numbers && i < count; i++)
		numbers[i] = NOT_NUMBERED;
	return numbers;
}

static int numbering_init(struct numbering *numbering, struct table_builder *builder,
			  const struct builder_output *output)
{
	int r;

	*numbering = (struct numbering){
		.builder = builder,
		.output = output,
		.linkage = BYTES_INIT(MANGLED_NAME_MAX_BYTES),
		.display = BYTES_INIT(DEMANGLED_NAME_MAX_BYTES + MANGLED_NAME_MAX_BYTES),
	};
	numbering->location_numbers = number_array(builder->locations.locations.count);
	numbering->function_numbers = number_array(builder->functions.count);
	numbering->path_numbers = number_array(string_table_count(builder->paths));
	if (!numbering->location_numbers || !numbering->function_numbers ||
	    !numbering->path_numbers)
		return -ENOMEM;
	r = location_table_init(&numbering->locations);
	if (r < 0)
		return r;
	r = hash_table_new(sizeof(struct text_pair), sizeof(uint32_t), 0,
			   &numbering->functions_by_text);
	if (r < 0)
		return r;
	r = string_table_new(SYMBOL_NAMES_MAX_BYTES, &numbering->texts);
	if (r < 0)
		return r;
	return string_table_new(SYMBOL_NAMES_MAX_BYTES, &numbering->path_texts);
}

static void numbering_release(struct numbering *numbering)
{
	free(numbering->location_numbers);
	free(numbering->function_numbers);
	free(numbering->path_numbers);
	location_table_release(&numbering->locations);
	vec_release(&numbering->functions);
	vec_release(&numbering->paths);
	vec_release(&numbering->demangled);
	vec_release(&numbering->nameless);
	hash_table_free(numbering->functions_by_text);
	string_table_free(numbering->texts);
	string_table_free(numbering->path_texts);
	bytes_release(&numbering->linkage);
	bytes_release(&numbering->display);
}

/* Fills numbering->linkage, and numbering->display if demangling does not give it. Returns enum
 * builder_names. */
static int make_names(struct numbering *numbering, const struct builder_function *function)
{
	const struct builder_output *output = numbering->output;
	int r;

	bytes_clear(&numbering->linkage);
	bytes_clear(&numbering->display);
	if (!function->name)
		return output->names(output->names_argument, function->entry, &numbering->linkage,
				     &numbering->display);
	r = bytes_append(&numbering->linkage, function->name,
			 strnlen(function->name, MANGLED_NAME_MAX_BYTES));
	return r < 0 ? r : NAMES_LINKAGE;
}

static int intern(struct string_table *texts, const struct bytes *text, string_id *ret_id)
{
	int r = string_table_intern(texts, (const char *)text->data, text->size, ret_id);

	return r == -ENOSPC ? -EFBIG : r;
}

/* Finds or assigns the number of the function with these two names. */
static int number_texts(struct numbering *numbering, const struct text_pair *texts,
			uint32_t *ret_number)
{
	void *number;
	int r = hash_table_insert(numbering->functions_by_text, texts, &number);

	if (r < 0)
		return r;
	if (r > 0) {
		const uint32_t next = (uint32_t)numbering->functions.count;

		r = vec_push(&numbering->functions, (struct numbered_function){ .texts = *texts });
		memcpy(number, &next, sizeof(next));
	}
	memcpy(ret_number, number, sizeof(*ret_number));
	return r;
}

static int number_linkage(struct numbering *numbering, string_id linkage, uint32_t *ret_number)
{
	struct text_pair texts = { .linkage = linkage };
	int r = 0;

	while (r == 0 && numbering->demangled.count <= linkage)
		r = vec_push(&numbering->demangled, NOT_NUMBERED);
	if (r < 0)
		return r;
	if (numbering->demangled.items[linkage] == NOT_NUMBERED) {
		r = demangle_append(&numbering->display, (const char *)numbering->linkage.data,
				    numbering->linkage.size);
		/* The display name is empty for a name such as ".llvm.1". */
		texts.display = linkage;
		if (r == 0 && numbering->display.size > 0)
			r = intern(numbering->texts, &numbering->display, &texts.display);
		if (r == 0)
			r = number_texts(numbering, &texts, &numbering->demangled.items[linkage]);
	}
	*ret_number = numbering->demangled.items[linkage];
	return r;
}

static int number_names(struct numbering *numbering, uint32_t function, uint32_t *ret_number)
{
	struct text_pair texts;
	int kind, r;

	kind = make_names(numbering, &numbering->builder->functions.items[function]);
	if (kind <= 0) {
		*ret_number = SYMBOL_NONE;
		return kind;
	}
	r = intern(numbering->texts, &numbering->linkage, &texts.linkage);
	if (r < 0 || kind == NAMES_LINKAGE)
		return r < 0 ? r : number_linkage(numbering, texts.linkage, ret_number);
	r = intern(numbering->texts, &numbering->display, &texts.display);
	return r < 0 ? r : number_texts(numbering, &texts, ret_number);
}

static int number_function(struct numbering *numbering, uint32_t function, uint32_t *ret_number)
{
	const uint32_t line = numbering->builder->functions.items[function].first_line;
	int r = number_names(numbering, function, ret_number);
	uint32_t *known;

	if (r < 0 || *ret_number == SYMBOL_NONE || line == 0)
		return r;
	known = &numbering->functions.items[*ret_number].first_line;
	*known = *known == 0 || *known == line ? line : SEVERAL_LINES;
	return r;
}

static int number_path(struct numbering *numbering, string_id path, uint32_t *ret_number)
{
	const struct string_table *paths = numbering->builder->paths;
	string_id text;
	int r;

	r = string_table_intern(numbering->path_texts, string_table_text(paths, path),
				string_table_length(paths, path), &text);
	if (r == 0)
		r = vec_push(&numbering->paths, text);
	if (r == 0)
		*ret_number = (uint32_t)numbering->paths.count - 1;
	return r == -ENOSPC ? -EFBIG : r;
}

/* Finds the number of @index in @numbers; calls @number to assign one if there is none yet. */
static int renumber(struct numbering *numbering, uint32_t *numbers, uint32_t index,
		    int (*number)(struct numbering *, uint32_t, uint32_t *), uint32_t *ret_number)
{
	int r = 0;

	if (index == SYMBOL_NONE) {
		*ret_number = SYMBOL_NONE;
		return 0;
	}
	if (numbers[index] == NOT_NUMBERED)
		r = number(numbering, index, &numbers[index]);
	*ret_number = numbers[index];
	return r;
}

static int number_location(struct numbering *numbering, uint32_t index, uint32_t *ret_number)
{
	const struct symbol_location *old = &numbering->builder->locations.locations.items[index];
	struct symbol_location location = { .line = old->line };
	int r;

	/* The recursion over callers is at most SYMBOL_CHAIN_MAX deep. */
	assert(old->caller < index || old->caller == SYMBOL_NONE);
	r = renumber(numbering, numbering->location_numbers, old->caller, number_location,
		     &location.caller);
	if (r < 0)
		return r;
	r = renumber(numbering, numbering->function_numbers, old->function, number_function,
		     &location.function);
	if (r < 0)
		return r;
	r = renumber(numbering, numbering->path_numbers, old->path, number_path, &location.path);
	if (r < 0)
		return r;
	return location_table_add(&numbering->locations, &location, ret_number);
}

static int number_all(struct numbering *numbering, struct merged_ranges *merged)
{
	for (size_t i = 0; i < merged->segments.count; i++) {
		int r = renumber(numbering, numbering->location_numbers,
				 merged->segments.items[i].location, number_location,
				 &merged->segments.items[i].location);

		if (r < 0)
			return r;
	}
	return 0;
}

static bool is_named(const struct numbering *numbering, const struct builder_segment *segment)
{
	const struct symbol_location *locations = numbering->locations.locations.items;

	return segment->location != SYMBOL_NO_LOCATION &&
	       locations[segment->location].function != SYMBOL_NONE;
}

/* Returns whether some byte of @function has no name. *segment is where the search begins; it is
 * moved to the segment of the function's start. */
static bool lacks_a_name(const struct numbering *numbering, const struct merged_ranges *merged,
			 const struct symbol_nameless *function, size_t *segment)
{
	const struct builder_segment *segments = merged->segments.items;
	const size_t count = merged->segments.count;

	while (*segment + 1 < count && segments[*segment + 1].start <= function->start)
		(*segment)++;
	if (count == 0 || segments[*segment].start > function->start)
		return true;
	for (size_t i = *segment; i < count && segments[i].start < function->end; i++) {
		if (!is_named(numbering, &segments[i]))
			return true;
	}
	return false;
}

static int choose_nameless(struct numbering *numbering, const struct merged_ranges *merged)
{
	const struct nameless_vec *nameless = numbering->output->nameless;
	const uint64_t base = numbering->builder->base;
	size_t segment = 0;

	for (size_t i = 0; nameless && i < nameless->count; i++) {
		const struct nameless_function *from = &nameless->items[i];
		struct symbol_nameless function;
		int r;

		if (from->start < base || from->end - base > UINT32_MAX)
			continue;
		function.start = (uint32_t)(from->start - base);
		function.end = (uint32_t)(from->end - base);
		if (!lacks_a_name(numbering, merged, &function, &segment))
			continue;
		r = vec_push(&numbering->nameless, function);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Two of the builder's locations may have got one number. */
static void join_equal_neighbours(struct merged_ranges *merged)
{
	struct builder_segment *segments = merged->segments.items;
	size_t kept = 0;

	for (size_t i = 0; i < merged->segments.count; i++) {
		if (kept > 0 && segments[kept - 1].location == segments[i].location)
			continue;
		segments[kept++] = segments[i];
	}
	merged->segments.count = kept;
}

/* Returns the size of all texts with their NULs, without text 0, which is "". */
static uint64_t bytes_of(const struct string_table *texts)
{
	uint64_t bytes = 0;

	for (string_id id = 1; id < string_table_count(texts); id++)
		bytes += string_table_length(texts, id) + 1;
	return bytes;
}

static void fill_header(const struct numbering *numbering, const struct merged_ranges *merged,
			struct symbol_header *header)
{
	const struct builder_segment_vec *segments = &merged->segments;

	*header = numbering->output->header;
	memcpy(header->magic, SYMBOL_FLAT_MAGIC, sizeof(header->magic));
	header->version = SYMBOL_LAYOUT_VERSION;
	header->base = numbering->builder->base;
	header->n_ranges = (uint32_t)segments->count;
	header->n_locations = (uint32_t)numbering->locations.locations.count;
	header->n_functions = (uint32_t)numbering->functions.count;
	header->n_paths = (uint32_t)numbering->paths.count;
	header->n_nameless = (uint32_t)numbering->nameless.count;
	if (segments->count > 0) {
		const uint32_t last = segments->items[segments->count - 1].start;

		header->page_shift = symbol_layout_page_shift(last, header->n_ranges);
		header->n_pages = (last >> header->page_shift) + 1;
	}
	header->text_bytes = 1 + bytes_of(numbering->texts) + bytes_of(numbering->path_texts);
	header->total_bytes = symbol_layout_bytes(header);
}

static void write_ranges(const struct merged_ranges *merged, const struct symbol_header *header,
			 const struct symbol_arrays *arrays)
{
	uint32_t *starts = (uint32_t *)arrays->starts;
	uint32_t *location_of = (uint32_t *)arrays->location_of;

	for (size_t i = 0; i < merged->segments.count; i++) {
		starts[i] = merged->segments.items[i].start;
		location_of[i] = merged->segments.items[i].location;
	}
	symbol_layout_fill_pages(starts, header->n_ranges, header->page_shift, header->n_pages,
				 (uint32_t *)arrays->pages);
}

/*
 * Writes the texts of @table in the order of their ids, starting at *offset. (*ret_offsets)[id] is
 * the offset of text @id. Text 0, "", has offset 0 in each table.
 */
static int write_table(const struct string_table *table, char *texts, uint32_t *offset,
		       uint32_t **ret_offsets)
{
	const uint32_t count = string_table_count(table);
	uint32_t *offsets = malloc(count * sizeof(*offsets));

	if (!offsets)
		return -ENOMEM;
	offsets[0] = 0;
	for (string_id id = 1; id < count; id++) {
		const size_t size = string_table_length(table, id) + 1;

		offsets[id] = *offset;
		memcpy(texts + *offset, string_table_text(table, id), size);
		*offset += (uint32_t)size;
	}
	*ret_offsets = offsets;
	return 0;
}

/* Writes the texts, and the functions and paths that refer to them. */
static int write_texts(const struct numbering *numbering, const struct symbol_arrays *arrays)
{
	struct symbol_function *functions = (struct symbol_function *)arrays->functions;
	uint32_t *paths = (uint32_t *)arrays->paths;
	scoped_free uint32_t *function_texts = NULL;
	scoped_free uint32_t *path_texts = NULL;
	char *texts = (char *)arrays->texts;
	uint32_t offset = 1;
	int r;

	r = write_table(numbering->texts, texts, &offset, &function_texts);
	if (r == 0)
		r = write_table(numbering->path_texts, texts, &offset, &path_texts);
	if (r < 0)
		return r;
	for (size_t i = 0; i < numbering->functions.count; i++) {
		const struct numbered_function *from = &numbering->functions.items[i];

		functions[i].display = function_texts[from->texts.display];
		functions[i].linkage = function_texts[from->texts.linkage];
		functions[i].first_line = from->first_line == SEVERAL_LINES ? 0 : from->first_line;
	}
	for (size_t i = 0; i < numbering->paths.count; i++)
		paths[i] = path_texts[numbering->paths.items[i]];
	return 0;
}

static int write_flat(const struct numbering *numbering, const struct merged_ranges *merged,
		      struct bytes *out)
{
	struct symbol_arrays arrays;
	struct symbol_header header;
	struct bytes_view flat;
	uint8_t *to;
	int r;

	fill_header(numbering, merged, &header);
	r = bytes_reserve(out, header.total_bytes);
	if (r < 0)
		return r;
	to = out->data + out->size;
	flat = (struct bytes_view){ to, (size_t)header.total_bytes };
	memset(to, 0, flat.size);
	symbol_layout_arrays(&header, to, &arrays);
	if (header.n_segments > 0)
		memcpy((void *)arrays.segments, numbering->output->segments,
		       header.n_segments * sizeof(*arrays.segments));
	write_ranges(merged, &header, &arrays);
	if (header.n_locations > 0)
		memcpy((void *)arrays.locations, numbering->locations.locations.items,
		       header.n_locations * sizeof(*arrays.locations));
	if (header.n_nameless > 0)
		memcpy((void *)arrays.nameless, numbering->nameless.items,
		       header.n_nameless * sizeof(*arrays.nameless));
	r = write_texts(numbering, &arrays);
	if (r < 0)
		return r;
	memcpy(to, &header, sizeof(header));
	header.checksum = symbol_layout_checksum(flat);
	memcpy(to, &header, sizeof(header));
	out->size += flat.size;
	return 0;
}

int table_builder_finish(struct table_builder *builder, const struct builder_output *output,
			 struct bytes *flat)
{
	struct merged_ranges merged = {};
	struct numbering numbering;
	int r;

	r = table_builder_merge(builder, &merged);
	for (size_t i = 0; i < N_LAYERS; i++)
		vec_release(&builder->layers[i].segments);
	if (r == 0) {
		r = numbering_init(&numbering, builder, output);
		if (r == 0)
			r = number_all(&numbering, &merged);
		if (r == 0)
			r = choose_nameless(&numbering, &merged);
		if (r == 0) {
			join_equal_neighbours(&merged);
			r = write_flat(&numbering, &merged, flat);
		}
		numbering_release(&numbering);
	}
	vec_release(&merged.segments);
	return r;
}
