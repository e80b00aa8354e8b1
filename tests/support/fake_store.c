/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/fake_store.h"

#include <string.h>

#include "symbolizer/store/sum_table.h"

struct fake_view {
	struct store_view view;
	struct fake_store *fake;
};

static struct fake_store *fake_of(struct store_view *view)
{
	return container_of(view, struct fake_view, view)->fake;
}

static bool is_selected(const struct store_view *view, const struct store_series *series,
			const struct store_series_query *query)
{
	return strcmp(series->tenant, view->tenant) == 0 &&
	       (query->type == EVENT_NONE || series->type == query->type) &&
	       (!query->service || strcmp(series->process->name, query->service) == 0) &&
	       series->last_slot >= query->from_slot &&
	       (query->to_slot == 0 || series->first_slot < query->to_slot);
}

static int find_series(struct store_view *view, const struct store_series_query *query,
		       struct arena *arena, struct store_series **ret_series, size_t *ret_count)
{
	struct fake_store *fake = fake_of(view);
	struct store_series *series = arena_alloc_array(arena, fake->n_series + 1, sizeof(*series));
	size_t count = 0;

	fake->n_searches++;
	if (fake->fail_with || !series)
		return fake->fail_with ? fake->fail_with : -ENOMEM;
	for (size_t i = 0; i < fake->n_series; i++) {
		if (is_selected(view, &fake->series[i], query))
			series[count++] = fake->series[i];
	}
	*ret_series = series;
	*ret_count = count;
	return 0;
}

static uint64_t item_key(const struct store_sum_query *query, const struct fake_row *row)
{
	if (query->step_slots)
		return (row->slot - query->from_slot) / query->step_slots;
	return query->without_stacks ? 0 : row->stack;
}

static int sum_row(struct store_view *view, struct sum_table *table,
		   const struct store_sum_query *query, const struct fake_row *row,
		   struct store_sums *sums)
{
	if (cancel_is_requested(view->cancel))
		return -ECANCELED;
	for (size_t k = 0; k < query->n_series; k++) {
		const struct store_sum_series *series = &query->series[k];
		int r;

		assert(k == 0 || series->id > query->series[k - 1].id);
		if (series->id != row->series || row->slot < query->from_slot ||
		    row->slot >= query->to_slot)
			continue;
		r = sum_table_add(table, series, item_key(query, row), row->slot, row->value);
		if (r < 0)
			return r;
		sums->n_rows++;
		if (series->marked)
			sums->marked_value += sum_scaled(row->value, series->factor);
	}
	return 0;
}

static int sum(struct store_view *view, const struct store_sum_query *query,
	       struct store_sums *ret_sums)
{
	struct fake_store *fake = fake_of(view);
	struct store_sums sums = { .n_damaged_blocks = (uint64_t)fake->n_damaged_blocks };
	struct sum_table table;
	int r;

	if (fake->fail_with)
		return fake->fail_with;
	r = sum_table_init(&table, query, view->memory);
	for (size_t i = 0; r == 0 && i < fake->n_rows; i++)
		r = sum_row(view, &table, query, &fake->rows[i], &sums);
	if (r == 0) {
		sum_table_take(&table, &sums);
		*ret_sums = sums;
	}
	sum_table_release(&table);
	return r;
}

static int load_stacks(struct store_view *view, const uint64_t *stack_ids, size_t count,
		       struct arena *arena, struct store_stack *ret_stacks)
{
	struct fake_store *fake = fake_of(view);

	(void)arena;
	if (fake->fail_with)
		return fake->fail_with;
	if (fake->cancel_while_loading)
		cancel_request(fake->cancel_while_loading);
	for (size_t i = 0; i < count; i++) {
		ret_stacks[i] = (struct store_stack){};
		for (size_t k = 0; k < fake->n_stacks; k++) {
			if (fake->stacks[k].id == stack_ids[i])
				ret_stacks[i] = fake->stacks[k].stack;
		}
	}
	return 0;
}

static int load_executables(struct store_view *view, const uint32_t *ids, size_t count,
			    struct arena *arena, struct store_executable *ret_executables)
{
	struct fake_store *fake = fake_of(view);

	(void)arena;
	if (fake->fail_with)
		return fake->fail_with;
	for (size_t i = 0; i < count; i++) {
		ret_executables[i] = (struct store_executable){ .id = ids[i] };
		for (size_t k = 0; k < fake->n_executables; k++) {
			if (fake->executables[k].id == ids[i])
				ret_executables[i] = fake->executables[k];
		}
	}
	return 0;
}

static int find_event_type(struct store_view *view, const char *name, struct arena *arena,
			   struct event_type_info *ret_info)
{
	struct fake_store *fake = fake_of(view);

	(void)arena;
	if (fake->fail_with)
		return fake->fail_with;
	if (!fake->event || strcmp(fake->event->name, name) != 0)
		return 0;
	*ret_info = *fake->event;
	return 1;
}

static const char *path_of(const struct fake_store *fake, const struct store_mapped_file *file)
{
	for (size_t i = 0; i < fake->n_paths; i++)
		if (fake->paths[i].process == file->process &&
		    fake->paths[i].executable == file->executable)
			return fake->paths[i].path;
	return NULL;
}

static int paths_of(struct store_view *view, const struct store_mapped_file *files, size_t count,
		    struct arena *arena, const char **ret_paths)
{
	struct fake_store *fake = fake_of(view);

	(void)arena;
	fake->n_path_calls++;
	fake->n_paths_read += count;
	for (size_t i = 0; i < count; i++)
		ret_paths[i] = path_of(fake, &files[i]);
	return 0;
}

static int named_frames(struct store_view *view, const uint64_t *keys, size_t count,
			struct arena *arena, const char **ret_names)
{
	struct fake_store *fake = fake_of(view);

	(void)arena;
	for (size_t i = 0; i < count; i++) {
		ret_names[i] = NULL;
		for (size_t k = 0; k < fake->n_names; k++)
			if (fake->names[k].key == keys[i])
				ret_names[i] = fake->names[k].name;
	}
	return 0;
}

static int list_hosts(struct store_view *view, struct arena *arena, struct store_host **ret_hosts,
		      size_t *ret_count)
{
	struct fake_store *fake = fake_of(view);

	if (fake->fail_with)
		return fake->fail_with;
	*ret_hosts = fake->n_hosts
			     ? arena_copy(arena, fake->hosts, fake->n_hosts * sizeof(*fake->hosts))
			     : NULL;
	*ret_count = fake->n_hosts;
	return *ret_hosts || fake->n_hosts == 0 ? 0 : -ENOMEM;
}

/* Inserts the name at its sorted position, unless the list has it already. */
static void add_name(const char **names, size_t *count, const char *name)
{
	size_t place = 0;

	while (place < *count && strcmp(names[place], name) < 0)
		place++;
	if (place < *count && strcmp(names[place], name) == 0)
		return;
	memmove(&names[place + 1], &names[place], (*count - place) * sizeof(*names));
	names[place] = name;
	(*count)++;
}

static int list_services(struct store_view *view, size_t max, struct arena *arena,
			 struct store_service **ret_services, size_t *ret_count)
{
	struct fake_store *fake = fake_of(view);
	struct store_service *services =
		arena_alloc_array(arena, fake->n_series + 1, sizeof(*services));
	size_t count = 0;

	if (fake->known_fails_with || !services)
		return fake->known_fails_with ? fake->known_fails_with : -ENOMEM;
	for (size_t i = 0; i < fake->n_series; i++) {
		const struct store_process *process = fake->series[i].process;
		bool listed = false;

		for (size_t k = 0; k < count; k++)
			listed |= strcmp(services[k].name, process->name) == 0;
		if (!listed && count < max && strcmp(fake->series[i].tenant, view->tenant) == 0)
			services[count++] = (struct store_service){
				.name = process->name,
				.without_stacks = process->without_stacks,
			};
	}
	*ret_services = services;
	*ret_count = count;
	return 0;
}

static int last_slot(struct store_view *view, const char *service, enum event_type type,
		     uint64_t *ret_slot)
{
	struct fake_store *fake = fake_of(view);
	uint64_t last = 0;

	if (fake->known_fails_with)
		return fake->known_fails_with;
	for (size_t i = 0; i < fake->n_series; i++) {
		const struct store_series *series = &fake->series[i];

		if (strcmp(series->tenant, view->tenant) == 0 && series->type == type &&
		    (!service || strcmp(series->process->name, service) == 0))
			last = MAX(last, series->last_slot);
	}
	*ret_slot = last;
	return last != 0;
}

static int list_label_names(struct store_view *view, const char *from, size_t max,
			    struct arena *arena, const char ***ret_names, size_t *ret_count)
{
	struct fake_store *fake = fake_of(view);
	size_t room = 1;
	const char **names;
	size_t count = 0;

	if (fake->known_fails_with)
		return fake->known_fails_with;
	for (size_t i = 0; i < fake->n_series; i++)
		room += fake->series[i].process->n_labels;
	names = arena_alloc_array(arena, room, sizeof(*names));
	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < fake->n_series; i++) {
		const struct store_process *process = fake->series[i].process;

		for (uint32_t k = 0; k < process->n_labels; k++)
			if (strcmp(fake->series[i].tenant, view->tenant) == 0 &&
			    strcmp(process->labels[k].name, from) >= 0)
				add_name(names, &count, process->labels[k].name);
	}
	*ret_names = names;
	*ret_count = MIN(count, max);
	return 0;
}

static struct store_view *close_view(struct store_view *view)
{
	free(container_of(view, struct fake_view, view));
	return NULL;
}

static const struct store_view_operations view_operations = {
	.find_series = find_series,
	.sum = sum,
	.load_stacks = load_stacks,
	.load_executables = load_executables,
	.find_event_type = find_event_type,
	.paths_of = paths_of,
	.named_frames = named_frames,
	.list_hosts = list_hosts,
	.list_services = list_services,
	.last_slot = last_slot,
	.list_label_names = list_label_names,
	.close = close_view,
};

static int open_view(struct store *store, const struct store_view_options *options,
		     struct store_view **ret_view)
{
	struct fake_view *self = calloc(1, sizeof(*self));

	if (!self)
		return -ENOMEM;
	*self = (struct fake_view){
		.view = { .operations = &view_operations,
			  .tenant = options->tenant,
			  .cancel = options->cancel,
			  .memory = options->memory },
		.fake = container_of(store, struct fake_store, store),
	};
	*ret_view = &self->view;
	return 0;
}

struct store *fake_store_init(struct fake_store *fake)
{
	static const struct store_operations operations = { .open_view = open_view };

	fake->store.operations = &operations;
	return &fake->store;
}
