/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses are looked up in sorted order, which is several times faster than a random one. The
 * places and strings found are copied to the caller's arena, each once, because the table may be
 * evicted at any time.
 */

#include "symbolizer/symbols/resolver.h"

#include <stdio.h>
#include <string.h>

#include "common/hash_table.h"
#include "common/vec.h"
#include "symbolizer/symbols/table/symbol_layout.h"

struct resolver {
	struct symbol_cache *tables;
};

int resolver_new(const struct symbol_cache_options *options, struct resolver **ret_resolver)
{
	scoped(resolver_freep) struct resolver *resolver = calloc(1, sizeof(*resolver));
	int r;

	if (!resolver)
		return -ENOMEM;
	r = symbol_cache_new(options, &resolver->tables);
	if (r < 0)
		return r;
	*ret_resolver = take_ptr(resolver);
	return 0;
}

struct resolver *resolver_free(struct resolver *resolver)
{
	if (!resolver)
		return NULL;
	symbol_cache_free(resolver->tables);
	free(resolver);
	return NULL;
}

const char *resolve_status_name(enum resolve_status status)
{
	switch (status) {
#define X(id, number, name)                                                                        \
	case id:                                                                                   \
		return name;
		RESOLVE_STATUSES(X)
#undef X
	}
	return NULL;
}

/* ---- places ------------------------------------------------------------------------------------
 */

VEC_DEFINE(place_vec, struct symbol_place);

/* Places and strings that are copied out of a table. */
struct copying {
	const struct symbol_file *file;
	struct arena *arena;
	struct hash_table *place_of; /* location -> 1 + place */
	struct hash_table *text_of;  /* text in the table -> text in the arena */
	struct place_vec places;
};

static int copying_init(struct copying *copying, const struct symbol_file *file,
			struct arena *arena)
{
	int r;

	*copying = (struct copying){ .file = file, .arena = arena };
	r = hash_table_new(sizeof(uint32_t), sizeof(uint32_t), 0, &copying->place_of);
	if (r == 0)
		r = hash_table_new(sizeof(const char *), sizeof(const char *), 0,
				   &copying->text_of);
	return r;
}

static void copying_release(struct copying *copying)
{
	hash_table_free(copying->place_of);
	hash_table_free(copying->text_of);
	vec_release(&copying->places);
}

/* Copies a string. A table has each string once, so its address identifies it. */
static int copy_text(struct copying *copying, const char **text)
{
	void *value;
	const char **copy;
	int r;

	if (!*text)
		return 0;
	r = hash_table_insert(copying->text_of, text, &value);
	if (r < 0)
		return r;
	copy = value;
	if (!*copy)
		*copy = arena_copy_text(copying->arena, *text, strlen(*text));
	*text = *copy;
	return *copy ? 0 : -ENOMEM;
}

static int add_place(struct copying *copying, const struct symbol_frame *frame, uint32_t caller)
{
	struct symbol_place place = {
		.function = frame->function,
		.linkage_name = frame->linkage_name,
		.file = frame->path,
		.line = frame->line,
		.first_line = frame->first_line,
		.caller = caller,
	};
	int r;

	r = copy_text(copying, &place.function);
	if (r < 0)
		return r;
	r = copy_text(copying, &place.linkage_name);
	if (r < 0)
		return r;
	r = copy_text(copying, &place.file);
	if (r < 0)
		return r;
	return vec_push(&copying->places, place);
}

/* Finds the place of @location; adds it and its callers if they are new. */
static int place_of(struct copying *copying, uint32_t location, uint32_t *ret_place)
{
	uint32_t chain[SYMBOL_CHAIN_MAX];
	struct symbol_frame frames[SYMBOL_CHAIN_MAX];
	uint32_t place = RESOLVE_NO_PLACE;
	size_t depth = 0;

	while (location != SYMBOL_NO_LOCATION) {
		const uint32_t *known = hash_table_find(copying->place_of, &location);

		if (known) {
			place = *known - 1;
			break;
		}
		assert(depth < SYMBOL_CHAIN_MAX);
		chain[depth] = location;
		location = symbol_file_frame(copying->file, location, &frames[depth++]);
	}
	while (depth-- > 0) {
		void *value;
		int r = add_place(copying, &frames[depth], place);

		if (r == 0)
			r = hash_table_insert(copying->place_of, &chain[depth], &value);
		if (r < 0)
			return r;
		place = (uint32_t)copying->places.count - 1;
		*(uint32_t *)value = place + 1;
	}
	*ret_place = place;
	return 0;
}

/* ---- a batch -----------------------------------------------------------------------------------
 */

struct batch_item {
	uint64_t elf_addr;
	size_t index; /* in the caller's arrays */
};

/* A sorted batch of addresses, and their locations. The arrays are in the arena. */
struct resolve_batch {
	size_t count;
	struct batch_item *items; /* sorted by elf_addr */
	uint64_t *elf_addrs;
	uint32_t *locations;
};

static int compare_items(const void *left, const void *right)
{
	const struct batch_item *a = left;
	const struct batch_item *b = right;

	return a->elf_addr < b->elf_addr ? -1 : a->elf_addr > b->elf_addr;
}

static int batch_search(struct resolve_batch *batch, const struct symbol_file *file, uint64_t base,
			const struct resolve_request *request, struct arena *arena)
{
	bool sorted = true;

	batch->count = request->count;
	batch->items = arena_alloc_array(arena, batch->count, sizeof(*batch->items));
	batch->elf_addrs = arena_alloc_array(arena, batch->count, sizeof(*batch->elf_addrs));
	batch->locations = arena_alloc_array(arena, batch->count, sizeof(*batch->locations));
	if (!batch->items || !batch->elf_addrs || !batch->locations)
		return -ENOMEM;

	for (size_t i = 0; i < batch->count; i++) {
		batch->items[i] =
			(struct batch_item){ .elf_addr = base + request->addresses[i], .index = i };
		sorted = sorted &&
			 (i == 0 || batch->items[i - 1].elf_addr <= batch->items[i].elf_addr);
	}
	if (!sorted)
		qsort(batch->items, batch->count, sizeof(*batch->items), compare_items);
	for (size_t i = 0; i < batch->count; i++)
		batch->elf_addrs[i] = batch->items[i].elf_addr;
	symbol_file_find(file, batch->elf_addrs, batch->count, batch->locations);
	return 0;
}

/* Returns the status of addresses without a function. */
static enum resolve_status reason_of(const struct table_loan *loan)
{
	if (loan->pending)
		return RESOLVE_PENDING;
	if (loan->state == TABLE_FAILED)
		return RESOLVE_FAILED;
	if (!loan->file)
		return RESOLVE_NO_DEBUGINFO;
	return symbol_file_info(loan->file)->sources & SYMBOL_SOURCES_OF_ALL ? RESOLVE_OUTSIDE
									     : RESOLVE_STRIPPED;
}

static int batch_name(const struct resolve_batch *batch, const struct table_loan *loan,
		      struct copying *copying, struct symbol *ret_symbols)
{
	const enum resolve_status reason = reason_of(loan);
	uint32_t previous = SYMBOL_NO_LOCATION;
	struct symbol_range nameless;
	struct symbol symbol = { .status = reason,
				 .place = RESOLVE_NO_PLACE,
				 .start = RESOLVE_NO_START };

	for (size_t i = 0; i < batch->count; i++) {
		uint32_t location = batch->locations[i];

		if (location != previous) {
			int r = place_of(copying, location, &symbol.place);

			if (r < 0)
				return r;
			previous = location;
			symbol.status = symbol.place != RESOLVE_NO_PLACE &&
							copying->places.items[symbol.place].function
						? RESOLVED
						: reason;
		}
		symbol.start = RESOLVE_NO_START;
		if (symbol.status != RESOLVED &&
		    symbol_file_nameless(loan->file, batch->elf_addrs[i], &nameless) > 0)
			symbol.start = nameless.start;
		ret_symbols[batch->items[i].index] = symbol;
	}
	return 0;
}

static int take_places(struct copying *copying, struct resolve_answer *answer)
{
	answer->n_places = copying->places.count;
	answer->places =
		arena_alloc_array(copying->arena, answer->n_places + 1, sizeof(*answer->places));
	if (!answer->places)
		return -ENOMEM;
	if (answer->n_places > 0)
		memcpy(answer->places, copying->places.items,
		       answer->n_places * sizeof(*answer->places));
	return 0;
}

static int resolve_in(const struct table_loan *loan, uint64_t base,
		      const struct resolve_request *request, struct arena *arena,
		      struct resolve_answer *answer)
{
	struct resolve_batch batch = {};
	struct copying copying;
	int r;

	r = copying_init(&copying, loan->file, arena);
	if (r == 0)
		r = batch_search(&batch, loan->file, base, request, arena);
	if (r == 0)
		r = batch_name(&batch, loan, &copying, answer->symbols);
	if (r == 0)
		r = take_places(&copying, answer);
	copying_release(&copying);
	return r;
}

static void fill(struct resolve_answer *answer, size_t count, enum resolve_status status)
{
	for (size_t i = 0; i < count; i++)
		answer->symbols[i] = (struct symbol){ .status = status,
						      .place = RESOLVE_NO_PLACE,
						      .start = RESOLVE_NO_START };
}

static int resolve_with(const struct table_loan *loan, const struct resolve_request *request,
			struct arena *arena, struct resolve_answer *answer)
{
	const struct symbol_file_info *info = loan->file ? symbol_file_info(loan->file) : NULL;

	answer->pending = loan->pending;
	answer->why = arena_copy_text(arena, loan->why, strlen(loan->why));
	if (!answer->why)
		return -ENOMEM;
	if (info && request->kernel_image && !info->has_text) {
		answer->why =
			"the symbol _text, to which addresses of a kernel are relative, is missing";
		fill(answer, request->count, loan->pending ? RESOLVE_PENDING : RESOLVE_FAILED);
		return 0;
	}
	if (info)
		return resolve_in(loan, request->kernel_image ? info->text : 0, request, arena,
				  answer);
	fill(answer, request->count, reason_of(loan));
	return 0;
}

int resolver_resolve(struct resolver *resolver, const struct resolve_request *request,
		     struct arena *arena, struct resolve_answer *ret_answer)
{
	struct resolve_answer answer = { .why = "" };
	struct table_loan loan = {};
	int r;

	answer.symbols = arena_alloc_array(arena, request->count + 1, sizeof(*answer.symbols));
	if (!answer.symbols)
		return -ENOMEM;
	if (request->id->kind == EXECUTABLE_ID_NONE) {
		fill(&answer, request->count, RESOLVE_NO_DEBUGINFO);
		*ret_answer = answer;
		return 0;
	}
	r = symbol_cache_borrow(resolver->tables, request->id, request->patience_ns, &loan);
	if (r < 0)
		return r;
	r = resolve_with(&loan, request, arena, &answer);
	symbol_cache_give_back(resolver->tables, &loan);
	if (r == 0)
		*ret_answer = answer;
	return r;
}

/* ---- code --------------------------------------------------------------------------------------
 */

/* Finds the code around an address of the request. Returns 1, or 0 if it is not in the function. */
static int code_around(const struct symbol_file *file, const struct resolve_code_request *request,
		       uint64_t elf_addr, struct code_block *ret_block)
{
	struct symbol_range range;
	int r;

	r = request->function ? symbol_file_code_around(file, elf_addr, request->function, &range)
			      : symbol_file_nameless(file, elf_addr, &range);
	if (r > 0)
		*ret_block = (struct code_block){ .elf_addr = range.start,
						  .size = range.end - range.start };
	return r;
}

static int find_code(const struct symbol_file *file, const struct resolve_code_request *request,
		     struct arena *arena, struct resolve_code_answer *answer)
{
	uint64_t end = 0;

	answer->base = request->kernel_image ? symbol_file_info(file)->text : 0;
	answer->blocks = arena_alloc_array(arena, request->count + 1, sizeof(*answer->blocks));
	if (!answer->blocks)
		return -ENOMEM;
	for (size_t i = 0; i < request->count; i++) {
		const uint64_t elf_addr = answer->base + request->addresses[i];
		struct code_block *block = &answer->blocks[answer->n_blocks];

		if (elf_addr < end || code_around(file, request, elf_addr, block) == 0)
			continue;
		end = block->elf_addr + block->size;
		answer->n_blocks++;
	}
	return 0;
}

int resolver_find_code(struct resolver *resolver, const struct resolve_code_request *request,
		       struct arena *arena, struct resolve_code_answer *ret_answer)
{
	struct resolve_code_answer answer = {};
	struct table_loan loan = {};
	int r;

	if (request->id->kind == EXECUTABLE_ID_NONE) {
		*ret_answer = answer;
		return 0;
	}
	r = symbol_cache_borrow(resolver->tables, request->id, 0, &loan);
	if (r < 0)
		return r;
	if (loan.file)
		r = find_code(loan.file, request, arena, &answer);
	symbol_cache_give_back(resolver->tables, &loan);
	if (r == 0)
		*ret_answer = answer;
	return r;
}

int resolver_decode_code(struct resolver *resolver, const struct executable_id *id,
			 struct code_job *job, struct arena *arena)
{
	return code_decoder_run(resolver->tables, id, job, arena);
}

int resolver_status(struct resolver *resolver, const struct executable_id *id,
		    struct table_status *ret_status)
{
	return symbol_cache_status(resolver->tables, id, ret_status);
}

int resolver_forget(struct resolver *resolver, const struct executable_id *id)
{
	return symbol_cache_forget(resolver->tables, id);
}

struct symbol_cache_counts resolver_counts(struct resolver *resolver)
{
	return symbol_cache_counts(resolver->tables);
}
