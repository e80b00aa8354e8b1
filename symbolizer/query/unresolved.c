/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values are first summed per (executable, reason, process). The sums are then sorted, so that
 * those of one file and reason are adjacent. From them the file gets its value, its services, and
 * its path (that in the process with the largest value).
 */

#include "symbolizer/query/unresolved.h"

#include <string.h>

#include "common/frame_kind.h"
#include "common/hash_table.h"
#include "symbolizer/query/stack_set.h"

const char *unresolved_reason_name(enum frame_status reason)
{
	switch (reason) {
#define X(status, key)                                                                             \
	case status:                                                                               \
		return #key;
		UNRESOLVED_REASONS(X)
#undef X
	case FRAME_NAMED:
		break;
	}
	return NULL;
}

uint64_t *unresolved_reason_sum(struct profile_stats *stats, enum frame_status reason)
{
	switch (reason) {
#define X(status, key)                                                                             \
	case status:                                                                               \
		return &stats->unsymbolized_##key;
		UNRESOLVED_REASONS(X)
#undef X
	case FRAME_NAMED:
		break;
	}
	return NULL;
}

#define NO_LEAF UINT32_MAX

/*
 *   leaf_of[set.count]   the innermost frame of each stack, an index of @frames; or NO_LEAF
 */
struct leaves {
	struct stack_set set;
	uint32_t *leaf_of;
	struct frame_table frames;
};

/* Returns the frame that is a leaf in the tree of a profile, where kernel frames are below user
 * frames. NULL: the stack has no frames. */
static const struct store_frame *innermost(const struct store_stack *stack)
{
	for (uint32_t i = 0; i < stack->n_frames; i++) {
		if (frame_kind_is_kernel(stack->frames[i].kind))
			return &stack->frames[i];
	}
	return stack->n_frames > 0 ? &stack->frames[0] : NULL;
}

static int number_leaves(const struct unresolved_input *input, struct leaves *leaves)
{
	leaves->leaf_of =
		arena_alloc_array(input->arena, leaves->set.count, sizeof(*leaves->leaf_of));
	if (!leaves->leaf_of)
		return -ENOMEM;

	for (size_t i = 0; i < leaves->set.count; i++) {
		const struct store_frame *frame = innermost(&leaves->set.stacks[i]);
		int r;

		leaves->leaf_of[i] = NO_LEAF;
		if (!frame)
			continue;
		r = frame_table_add(&leaves->frames, frame, &leaves->leaf_of[i]);
		if (r < 0)
			return r;
	}
	input->stats->n_stacks += leaves->set.count;
	input->stats->n_frames += leaves->frames.n_frames;
	return 0;
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* The hash table compares keys byte by byte, so the struct must have no padding. */
struct part_key {
	uint64_t process;    /* store id */
	uint32_t executable; /* index in the frame table, or FRAME_NO_EXECUTABLE */
	uint16_t reason;     /* enum frame_status */
	uint16_t kernel;
};

struct part {
	struct part_key key;
	const struct store_process *process;
	uint64_t value;
};

static int add_part(struct hash_table *parts, const struct frame *frame,
		    const struct store_process *process, uint64_t value)
{
	const struct part_key key = {
		.process = process->id,
		.executable = frame->executable,
		.reason = (uint16_t)frame->status,
		.kernel = frame->kernel,
	};
	struct part *part;
	void *item;
	int r;

	r = hash_table_insert(parts, &key, &item);
	if (r < 0)
		return r;
	part = item;
	part->key = key;
	part->process = process;
	part->value += value;
	return 0;
}

static int add_items(const struct unresolved_input *input, const struct leaves *leaves,
		     struct hash_table *parts)
{
	struct profile_stats *stats = input->stats;
	size_t stack = 0;

	for (size_t i = 0; i < input->n_items; i++) {
		const struct store_sum *item = &input->items[i];
		const struct series_group *group = &input->groups->groups[item->group];
		const struct frame *frame;
		int r;

		if (item->stack != leaves->set.ids[stack])
			stack++;
		assert(item->stack == leaves->set.ids[stack]);
		stats->value_total += item->value;
		profile_stats_add_cut(stats, leaves->set.stacks[stack].cut, item->value);
		if (leaves->leaf_of[stack] == NO_LEAF)
			continue;
		frame = &leaves->frames.frames[leaves->leaf_of[stack]];
		if (frame->status == FRAME_NAMED)
			continue;
		stats->value_unsymbolized += item->value;
		*unresolved_reason_sum(stats, frame->status) += item->value;
		r = add_part(parts, frame, group->process, item->value);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- files ---------------------------------------------------------------------------------- */

static int compare_file(const struct part *a, const struct part *b)
{
	if (a->key.executable != b->key.executable)
		return a->key.executable < b->key.executable ? -1 : 1;
	if (a->key.reason != b->key.reason)
		return a->key.reason < b->key.reason ? -1 : 1;
	return a->key.kernel < b->key.kernel ? -1 : a->key.kernel > b->key.kernel;
}

/* Orders parts by file and reason, then by service. */
static int compare_parts(const void *left, const void *right)
{
	const struct part *a = left;
	const struct part *b = right;
	int order = compare_file(a, b);

	if (order == 0)
		order = strcmp(a->process->name, b->process->name);
	if (order == 0)
		order = a->process->id < b->process->id ? -1 : a->process->id > b->process->id;
	return order;
}

/* Inserts a service into file->services, which keeps the services with the largest values.
 * values[i] is the value of file->services[i]. */
static void add_service(struct unresolved_file *file, uint64_t values[UNRESOLVED_MAX_SERVICES],
			const char *name, uint64_t value)
{
	size_t index = file->n_services;

	while (index > 0 && values[index - 1] < value)
		index--;
	if (index == UNRESOLVED_MAX_SERVICES)
		return;
	file->n_services = MIN(file->n_services + 1, (size_t)UNRESOLVED_MAX_SERVICES);
	for (size_t i = file->n_services - 1; i > index; i--) {
		file->services[i] = file->services[i - 1];
		values[i] = values[i - 1];
	}
	file->services[index] = name;
	values[index] = value;
}

/* Joins the parts of one file and reason. *ret_largest is the process with the largest value. */
static struct unresolved_file file_of_run(const struct part *parts, size_t count,
					  const struct store_process **ret_largest)
{
	struct unresolved_file file = {
		.path = "",
		.kernel = parts[0].key.kernel,
		.reason = (enum frame_status)parts[0].key.reason,
	};
	uint64_t values[UNRESOLVED_MAX_SERVICES];
	const struct part *largest = &parts[0];
	uint64_t service_value = 0;

	for (size_t i = 0; i < count; i++) {
		file.value += parts[i].value;
		service_value += parts[i].value;
		if (parts[i].value > largest->value)
			largest = &parts[i];
		if (i + 1 < count &&
		    strcmp(parts[i + 1].process->name, parts[i].process->name) == 0)
			continue;
		add_service(&file, values, parts[i].process->name, service_value);
		service_value = 0;
	}
	*ret_largest = largest->process;
	return file;
}

static int compare_values(const void *left, const void *right)
{
	const struct unresolved_file *a = left;
	const struct unresolved_file *b = right;

	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return strcmp(a->path, b->path);
}

/* The files of the result, and their executables in the processes with the largest values. */
struct file_list {
	struct unresolved_files *files;
	struct store_mapped_file *mapped; /* [n_mapped] */
	size_t *file_of;                  /* [n_mapped] index of the file */
	size_t n_mapped;
};

static void add_file(const struct leaves *leaves, const struct part *parts, size_t count,
		     struct file_list *list)
{
	const struct store_process *largest;
	struct unresolved_file file = file_of_run(parts, count, &largest);

	if (parts[0].key.executable != FRAME_NO_EXECUTABLE) {
		file.executable = &leaves->frames.executables[parts[0].key.executable];
		list->mapped[list->n_mapped] =
			(struct store_mapped_file){ largest->id, file.executable->id };
		list->file_of[list->n_mapped++] = list->files->count;
	}
	list->files->files[list->files->count++] = file;
}

static int find_paths(const struct unresolved_input *input, const struct file_list *list)
{
	const char **paths = arena_alloc_array(input->arena, list->n_mapped + 1, sizeof(*paths));
	int r;

	if (!paths)
		return -ENOMEM;
	r = store_paths_of(input->view, list->mapped, list->n_mapped, input->arena, paths);
	for (size_t i = 0; r == 0 && i < list->n_mapped; i++) {
		struct unresolved_file *file = &list->files->files[list->file_of[i]];

		file->path = paths[i] ? paths[i] : file->executable->name;
		if (!file->path)
			file->path = "";
	}
	return r;
}

static int make_files(const struct unresolved_input *input, const struct leaves *leaves,
		      const struct hash_table *table, struct unresolved_files *files)
{
	size_t n_parts = hash_table_count(table);
	struct part *parts = arena_alloc_array(input->arena, n_parts + 1, sizeof(*parts));
	struct file_list list = {
		.files = files,
		.mapped = arena_alloc_array(input->arena, n_parts + 1, sizeof(*list.mapped)),
		.file_of = arena_alloc_array(input->arena, n_parts + 1, sizeof(*list.file_of)),
	};
	size_t cursor = 0, count = 0, start = 0;
	void *value;
	int r;

	files->files = arena_alloc_array(input->arena, n_parts + 1, sizeof(*files->files));
	if (!parts || !files->files || !list.mapped || !list.file_of)
		return -ENOMEM;
	while (hash_table_next(table, &cursor, NULL, &value))
		parts[count++] = *(const struct part *)value;
	qsort(parts, count, sizeof(*parts), compare_parts);
	for (size_t i = 1; i <= count; i++) {
		if (i < count && compare_file(&parts[i], &parts[start]) == 0)
			continue;
		add_file(leaves, &parts[start], i - start, &list);
		start = i;
	}
	r = find_paths(input, &list);
	if (r < 0)
		return r;
	qsort(files->files, files->count, sizeof(*files->files), compare_values);
	return 0;
}

static int name_and_sum(const struct unresolved_input *input, struct leaves *leaves,
			struct unresolved_files *files)
{
	const struct frame_names names = {
		.view = input->view,
		.resolver = input->resolver,
		.clock = input->clock,
		.arena = input->arena,
		.patience_ns = PROFILE_PATIENCE_NS,
		.no_inlines = true,
	};
	scoped(hash_table_freep) struct hash_table *parts = NULL;
	int r;

	r = frame_table_resolve(&leaves->frames, &names);
	if (r < 0)
		return r;
	input->stats->n_tables_pending += leaves->frames.n_pending;
	r = hash_table_new(sizeof(struct part_key), sizeof(struct part), 0, &parts);
	if (r < 0)
		return r;
	r = add_items(input, leaves, parts);
	if (r < 0)
		return r;
	return make_files(input, leaves, parts, files);
}

int unresolved_count(const struct unresolved_input *input, struct unresolved_files *ret_files)
{
	const struct stack_set_source source = {
		.view = input->view,
		.arena = input->arena,
	};
	struct unresolved_files files = {};
	struct leaves leaves = {};
	int r;

	r = stack_set_load(&source, input->items, input->n_items, &leaves.set);
	if (r < 0)
		return r;
	r = frame_table_init(&leaves.frames);
	if (r < 0)
		return r;

	r = number_leaves(input, &leaves);
	if (r == 0)
		r = name_and_sum(input, &leaves, &files);
	frame_table_release(&leaves.frames);
	if (r < 0)
		return r;
	*ret_files = files;
	return 0;
}
