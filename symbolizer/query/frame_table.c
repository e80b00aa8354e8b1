/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames repeat in nearly every stack, so that adding a frame is the innermost step of a query.
 * Frames are resolved executable by executable in rising order of address, in which symbol tables
 * are fastest.
 */

#include "symbolizer/query/frame_table.h"

#include "common/clock.h"
#include "common/frame_kind.h"
#include "symbolizer/query/code_names.h"

#define FIRST_SLOTS 4096

static uint64_t frame_hash(const struct store_frame *frame)
{
	uint64_t hash = frame->address * UINT64_C(0x9e3779b97f4a7c15) + frame->object;

	hash = (hash ^ hash >> 32) * UINT64_C(0xbf58476d1ce4e5b9) + frame->kind;
	return hash ^ hash >> 29;
}

static bool same_frame(const struct store_frame *a, const struct store_frame *b)
{
	return a->address == b->address && a->object == b->object && a->kind == b->kind;
}

static uint32_t *frame_slot(const struct frame_table *table, const struct store_frame *frame)
{
	size_t index = frame_hash(frame) & table->slot_mask;

	for (;; index = (index + 1) & table->slot_mask) {
		uint32_t *slot = &table->slots[index];

		if (*slot == 0 || same_frame(&table->frames[*slot - 1].stored, frame))
			return slot;
	}
}

/* Memory of the slots and of the frames that they have room for. */
static uint64_t bytes_of_slots(size_t n_slots)
{
	return n_slots * (sizeof(uint32_t) + sizeof(struct frame) / 2);
}

static int grow_slots(struct frame_table *table)
{
	size_t n_slots = table->slots ? (table->slot_mask + 1) * 2 : FIRST_SLOTS;
	uint64_t more = bytes_of_slots(n_slots) - table->taken_bytes;
	uint32_t *slots;

	if (table->budget && !memory_budget_take(table->budget, more))
		return -ENOMEM;
	slots = calloc(n_slots, sizeof(*slots));
	if (!slots) {
		memory_budget_give(table->budget, more);
		return -ENOMEM;
	}
	if (table->budget)
		table->taken_bytes += more;
	free(table->slots);
	table->slots = slots;
	table->slot_mask = n_slots - 1;
	for (size_t i = 0; i < table->n_frames; i++)
		*frame_slot(table, &table->frames[i].stored) = (uint32_t)i + 1;
	return 0;
}

int frame_table_init(struct frame_table *table)
{
	*table = (struct frame_table){};
	return grow_slots(table);
}

void frame_table_release(struct frame_table *table)
{
	free(table->frames);
	free(table->slots);
	memory_budget_give(table->budget, table->taken_bytes);
	vec_release(&table->functions);
	*table = (struct frame_table){};
}

int frame_table_add(struct frame_table *table, const struct store_frame *frame, uint32_t *ret_index)
{
	uint32_t *slot = frame_slot(table, frame);
	int r;

	if (*slot != 0) {
		*ret_index = *slot - 1;
		return 0;
	}
	if ((table->n_frames + 1) * 2 > table->slot_mask + 1) {
		r = grow_slots(table);
		if (r < 0)
			return r;
		slot = frame_slot(table, frame);
	}
	r = vec_reserve_items((void **)&table->frames, table->n_frames, &table->capacity, 1,
			      sizeof(*table->frames));
	if (r < 0)
		return r;

	table->frames[table->n_frames++] = (struct frame){
		.stored = *frame,
		.status = FRAME_NO_MAPPING,
		.function = FRAME_NO_FUNCTION,
		.function_start = RESOLVE_NO_START,
		.executable = FRAME_NO_EXECUTABLE,
		.code_object = FRAME_NO_CODE_OBJECT,
		.kernel = frame_kind_is_kernel(frame->kind),
	};
	*slot = (uint32_t)table->n_frames;
	*ret_index = *slot - 1;
	return 0;
}

int frame_table_compare_ids(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

static bool has_executable(const struct frame *frame)
{
	return frame->stored.object != 0 && !(frame->stored.object & FRAME_CODE_OBJECT);
}

int frame_table_list_objects(const struct frame_table *table,
			     bool (*has_object)(const struct frame *frame), struct object_ids *ids)
{
	size_t kept = 0;
	uint32_t previous = 0;

	for (size_t i = 0; i < table->n_frames; i++) {
		const struct frame *frame = &table->frames[i];
		int r;

		/* Adjacent frames of a stack are often in one executable. */
		if (!has_object(frame) || frame->stored.object == previous)
			continue;
		previous = frame->stored.object;
		r = vec_push(ids, previous);
		if (r < 0)
			return r;
	}
	if (ids->count > 0)
		qsort(ids->items, ids->count, sizeof(*ids->items), frame_table_compare_ids);
	for (size_t i = 0; i < ids->count; i++) {
		if (i == 0 || ids->items[i] != ids->items[i - 1])
			ids->items[kept++] = ids->items[i];
	}
	ids->count = kept;
	return 0;
}

static int load_executables(struct frame_table *table, struct store_view *view, struct arena *arena)
{
	struct object_ids ids = {};
	int r;

	r = frame_table_list_objects(table, has_executable, &ids);
	if (r == 0 && ids.count > 0) {
		table->executables =
			arena_alloc_array(arena, ids.count, sizeof(*table->executables));
		r = table->executables ? store_load_executables(view, ids.items, ids.count, arena,
								table->executables)
				       : -ENOMEM;
		table->n_executables = ids.count;
	}
	for (size_t i = 0; r >= 0 && i < table->n_frames; i++) {
		struct frame *frame = &table->frames[i];
		const uint32_t *found = NULL;

		if (has_executable(frame))
			found = bsearch(&frame->stored.object, ids.items, ids.count,
					sizeof(*ids.items), frame_table_compare_ids);
		if (found)
			frame->executable = (uint32_t)(found - ids.items);
	}
	vec_release(&ids);
	return r < 0 ? r : 0;
}

/* A frame that can be looked up in its executable's table. */
struct lookup {
	uint32_t executable;
	uint32_t frame;
	bool from_text; /* the address is relative to _text: a kernel frame that is in no module */
	uint64_t address;
};

VEC_DEFINE(lookup_vec, struct lookup);

static int compare_lookups(const void *left, const void *right)
{
	const struct lookup *a = left;
	const struct lookup *b = right;

	if (a->executable != b->executable)
		return a->executable < b->executable ? -1 : 1;
	if (a->from_text != b->from_text)
		return a->from_text ? 1 : -1;
	return a->address < b->address ? -1 : a->address > b->address;
}

bool frame_code_address(const struct frame *frame, const struct store_executable *executable,
			uint64_t *ret_address, bool *ret_from_text)
{
	*ret_address = frame->stored.address;
	*ret_from_text =
		frame->stored.kind == FRAME_KERNEL && executable->role != ROLE_KERNEL_MODULE;
	return frame->stored.kind != FRAME_NATIVE_FILE_OFFSET ||
	       load_segments_offset_to_vaddr(executable->segments, executable->n_segments,
					     frame->stored.address, ret_address) > 0;
}

static int list_lookups(const struct frame_table *table, struct lookup_vec *lookups)
{
	for (size_t i = 0; i < table->n_frames; i++) {
		const struct frame *frame = &table->frames[i];
		struct lookup lookup = { .executable = frame->executable, .frame = (uint32_t)i };
		int r;

		if (frame->executable == FRAME_NO_EXECUTABLE ||
		    !frame_code_address(frame, &table->executables[frame->executable],
					&lookup.address, &lookup.from_text))
			continue;
		r = vec_push(lookups, lookup);
		if (r < 0)
			return r;
	}
	if (lookups->count > 0)
		qsort(lookups->items, lookups->count, sizeof(*lookups->items), compare_lookups);
	return 0;
}

static enum frame_status status_of(enum resolve_status status)
{
	switch (status) {
	case RESOLVED:
		return FRAME_NAMED;
	case RESOLVE_NO_DEBUGINFO:
		return FRAME_NO_DEBUGINFO;
	case RESOLVE_STRIPPED:
		return FRAME_STRIPPED;
	case RESOLVE_PENDING:
		return FRAME_TABLE_PENDING;
	case RESOLVE_FAILED:
		return FRAME_TABLE_FAILED;
	case RESOLVE_OUTSIDE:
		break;
	}
	return FRAME_OUTSIDE;
}

/* Adjacent lookups with the same executable and the same from_text. */
struct lookup_run {
	const struct lookup *lookups;
	size_t count;
};

VEC_DEFINE(lookup_run_vec, struct lookup_run);

static int list_runs(const struct lookup_vec *lookups, struct lookup_run_vec *runs)
{
	size_t start = 0;

	for (size_t i = 1; i <= lookups->count; i++) {
		const struct lookup *first = &lookups->items[start];
		int r;

		if (i < lookups->count && lookups->items[i].executable == first->executable &&
		    lookups->items[i].from_text == first->from_text)
			continue;
		r = vec_push(runs, (struct lookup_run){ first, i - start });
		if (r < 0)
			return r;
		start = i;
	}
	return 0;
}

/* Appends the functions of an answer; *ret_first is the index of the first. */
static int add_functions(struct frame_table *table, const struct resolve_answer *answer,
			 uint32_t *ret_first)
{
	const uint32_t first = (uint32_t)table->functions.count;
	int r = vec_reserve(&table->functions, answer->n_places);

	if (r < 0)
		return r;
	for (size_t i = 0; i < answer->n_places; i++) {
		const struct symbol_place *place = &answer->places[i];

		table->functions.items[table->functions.count++] = (struct frame_function){
			.name = place->function,
			.linkage_name = place->linkage_name,
			.file = place->file,
			.line = place->line,
			.first_line = place->first_line,
			.caller = place->caller == RESOLVE_NO_PLACE ? FRAME_NO_FUNCTION
								    : first + place->caller,
		};
	}
	*ret_first = first;
	return 0;
}

/* Returns the function that has the code: the end of the chain of inlined functions. */
static uint32_t outermost_function(const struct frame_table *table, uint32_t function)
{
	while (table->functions.items[function].caller != FRAME_NO_FUNCTION)
		function = table->functions.items[function].caller;
	return function;
}

/* Names the frames of a run. Returns 1 if the answer is preliminary: the table is being made. */
static int resolve_run(struct frame_table *table, const struct frame_names *names,
		       const struct lookup_run *run, uint64_t patience_ns)
{
	const struct lookup *first = &run->lookups[0];
	uint64_t *addresses = arena_alloc_array(names->arena, run->count, sizeof(*addresses));
	const struct resolve_request request = {
		.id = &table->executables[first->executable].identity,
		.kernel_image = first->from_text,
		.addresses = addresses,
		.count = run->count,
		.patience_ns = patience_ns,
	};
	struct resolve_answer answer;
	uint32_t first_function;
	int r;

	if (cancel_is_requested(names->view->cancel))
		return -ECANCELED;
	if (!addresses)
		return -ENOMEM;
	for (size_t i = 0; i < run->count; i++)
		addresses[i] = run->lookups[i].address;
	r = resolver_resolve(names->resolver, &request, names->arena, &answer);
	if (r < 0)
		return r;
	r = add_functions(table, &answer, &first_function);
	if (r < 0)
		return r;
	for (size_t i = 0; i < run->count; i++) {
		struct frame *frame = &table->frames[run->lookups[i].frame];

		frame->status = status_of(answer.symbols[i].status);
		frame->function_start = answer.symbols[i].start;
		if (frame->status != FRAME_NAMED)
			continue;
		frame->function = first_function + answer.symbols[i].place;
		if (names->no_inlines)
			frame->function = outermost_function(table, frame->function);
	}
	return answer.pending ? 1 : 0;
}

/*
 * Resolves all runs without waiting, which starts to make every missing table. Then resolves the
 * pending runs again and waits for their tables until @names->patience_ns have passed.
 */
static int resolve_runs(struct frame_table *table, const struct frame_names *names,
			struct lookup_run_vec *runs)
{
	uint64_t deadline_ns;
	size_t n_pending = 0;
	int r;

	for (size_t i = 0; i < runs->count; i++) {
		r = resolve_run(table, names, &runs->items[i], 0);
		if (r < 0)
			return r;
		if (r > 0)
			runs->items[n_pending++] = runs->items[i];
	}
	deadline_ns = clock_monotonic_ns(names->clock) + names->patience_ns;
	for (size_t i = 0; i < n_pending; i++) {
		const uint64_t now_ns = clock_monotonic_ns(names->clock);

		r = resolve_run(table, names, &runs->items[i],
				now_ns < deadline_ns ? deadline_ns - now_ns : 0);
		if (r < 0)
			return r;
		table->n_pending += (uint32_t)r;
	}
	return 0;
}

static int name_frame(struct frame_table *table, struct frame *frame, const char *name)
{
	const struct frame_function function = { .name = name, .caller = FRAME_NO_FUNCTION };
	int r;

	r = vec_push(&table->functions, function);
	if (r < 0)
		return r;
	frame->status = FRAME_NAMED;
	frame->function = (uint32_t)table->functions.count - 1;
	return 0;
}

/* Names the kernel frames that the agent sent with a name (format 1). */
static int load_named_frames(struct frame_table *table, const struct frame_names *names)
{
	VEC_DEFINE(, uint64_t) addresses = {};
	const char **texts = NULL;
	size_t next = 0;
	int r = 0;

	for (size_t i = 0; i < table->n_frames && r == 0; i++)
		if (table->frames[i].stored.kind == FRAME_KERNEL_NAMED)
			r = vec_push(&addresses, table->frames[i].stored.address);
	if (r == 0 && addresses.count > 0) {
		texts = arena_alloc_array(names->arena, addresses.count, sizeof(*texts));
		r = texts ? store_named_frames(names->view, addresses.items, addresses.count,
					       names->arena, texts)
			  : -ENOMEM;
	}
	for (size_t i = 0; r == 0 && next < addresses.count; i++) {
		if (table->frames[i].stored.kind != FRAME_KERNEL_NAMED)
			continue;
		if (texts[next])
			r = name_frame(table, &table->frames[i], texts[next]);
		next++;
	}
	vec_release(&addresses);
	return r;
}

int frame_table_resolve(struct frame_table *table, const struct frame_names *names)
{
	struct lookup_vec lookups = {};
	struct lookup_run_vec runs = {};
	int r;

	r = load_executables(table, names->view, names->arena);
	if (r == 0)
		r = list_lookups(table, &lookups);
	if (r == 0 && lookups.count > 0)
		r = list_runs(&lookups, &runs);
	if (r == 0)
		r = resolve_runs(table, names, &runs);
	if (r == 0)
		r = code_names_resolve(table, names);
	if (r == 0)
		r = load_named_frames(table, names);
	vec_release(&runs);
	vec_release(&lookups);
	return r;
}
