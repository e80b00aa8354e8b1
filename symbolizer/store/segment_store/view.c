/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views. A question about series loads the segments that it concerns: their index entries, and the
 * rows in memory. Their bytes are read when segment_view needs them.
 *
 * Each load has a reader, which shows one state of the store. Two loads may show different states,
 * between which segments were merged. So segments of one head and hour are taken from the first
 * load that has them, and a reader has whole hours.
 */

#include "symbolizer/store/segment_store/view_private.h"

#include <limits.h>
#include <string.h>

#include "symbolizer/store/segment_db/day_file.h"

/* All handles and texts of a view, if the request has no budget. */
#define MAX_VIEW_BYTES (4 * GIB)

/* Segments of one head in one hour. */
struct hour_key {
	struct hash128 head; /* of service, event type, unit and kind */
	uint64_t hour;
};

static struct hash128 hash_head(const struct segment_part_head *head)
{
	const struct hash128 parts[] = {
		hash128_of(head->service, strlen(head->service)),
		hash128_of(head->event, strlen(head->event)),
		hash128_of(head->unit, strlen(head->unit)),
		hash128_of(&head->event_kind, sizeof(head->event_kind)),
	};

	return hash128_of(parts, sizeof(parts));
}

/* 1; 0: an earlier load has the hour. */
static int take_hour(struct engine_view *self, const struct segment_part_head *head,
		     uint64_t first_slot)
{
	const struct hour_key key = { .head = hash_head(head),
				      .hour = first_slot / SEGMENT_SLOTS_PER_HOUR };
	uint64_t *load;
	int r = hash_table_insert(self->hours, &key, (void **)&load);

	if (r < 0)
		return r;
	if (*load == 0)
		*load = self->readers.count;
	return *load == self->readers.count;
}

static int fetch(void *arg, struct bytes *out)
{
	return segment_db_reader_content(arg, out);
}

static int add_stored(struct engine_view *self, const struct stored_segment *stored,
		      const struct segment_part_head *head)
{
	const struct segment_info *info = &stored->info;
	struct segment_part part = { .fetch = fetch,
				     .fetch_arg = (void *)(uintptr_t)stored,
				     .head = head,
				     .first_slot = info->first_slot,
				     .end_slot = info->last_slot + 1,
				     .key = { .day = segment_day_of_slot(info->first_slot),
					      .id = info->id,
					      .flush = info->flush,
					      .n_rows = info->n_rows },
				     .in_rollup = stored->in_rollup };
	int r;

	if (info->kind == SEGMENT_ROLLUP) {
		if (!stored->is_complete)
			return 0;
		part.first_slot -= part.first_slot % SEGMENT_SLOTS_PER_HOUR;
		part.end_slot = part.first_slot + SEGMENT_SLOTS_PER_HOUR;
		part.samples_removed = info->samples_removed;
	}
	r = take_hour(self, head, info->first_slot);
	return r <= 0 ? r : segment_view_add(self->segments, &part);
}

static int add_all_stored(struct engine_view *self, const struct segment_db_reader *reader)
{
	const struct stored_segment *stored;
	const size_t count = segment_db_reader_stored(reader, &stored);
	struct segment_part_head *heads = arena_alloc_array(self->arena, count, sizeof(*heads));
	int r = heads ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && r == 0; i++) {
		const struct segment_info *info = &stored[i].info;

		heads[i] = (struct segment_part_head){ .service = info->service,
						       .event = info->event,
						       .unit = info->unit,
						       .event_kind = info->event_kind,
						       .kind = info->kind };
		r = add_stored(self, &stored[i], &heads[i]);
	}
	return r;
}

static const char *text_of(struct engine_view *self, const struct segment *segment,
			   enum segment_column column)
{
	struct bytes_view text = segment_text(segment, segment->column[column][0]);

	return arena_copy_text(self->arena, (const char *)text.data, text.size);
}

static int add_memory(struct engine_view *self, const struct memory_segment *memory)
{
	const struct segment *segment = &memory->segment;
	struct segment_part_head *head = arena_alloc(self->arena, sizeof(*head));
	const struct segment_part part = { .decoded = segment,
					   .head = head,
					   .first_slot = memory->first_slot,
					   .end_slot = memory->end_slot };
	int r;

	if (!head)
		return -ENOMEM;
	*head = (struct segment_part_head){
		.service = text_of(self, segment, HEAD_SERVICE),
		.event = text_of(self, segment, HEAD_EVENT),
		.unit = text_of(self, segment, HEAD_UNIT),
		.event_kind = (enum event_value_kind)segment->column[HEAD_EVENT_KIND][0],
	};
	if (!head->service || !head->event || !head->unit)
		return -ENOMEM;
	r = take_hour(self, head, memory->first_slot);
	return r <= 0 ? r : segment_view_add(self->segments, &part);
}

static int add_all_memory(struct engine_view *self, const struct segment_db_reader *reader)
{
	const struct memory_segment *memory;
	const size_t count = segment_db_reader_memory(reader, &memory);
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++)
		r = add_memory(self, &memory[i]);
	return r;
}

const char *view_event_name(const struct engine_view *self, enum event_type type)
{
	const struct event_type_info *info = event_type_info(type);

	return info ? info->name : segment_view_event_name(self->segments, type);
}

enum memory_rows {
	MEMORY_ROWS,
	MEMORY_SPANS, /* see segment_db_reading.spans_of_memory_rows */
};

static int load(struct engine_view *self, const struct store_series_query *query,
		enum memory_rows memory)
{
	const struct segment_db_reading reading = {
		.query = { .tenant = self->view.tenant,
			   .service = query->service,
			   .event = view_event_name(self, query->type),
			   .from_slot = query->from_slot,
			   .to_slot = query->to_slot ? query->to_slot : UINT64_MAX,
			   .cancel = self->view.cancel },
		.memory = self->view.memory,
		.spans_of_memory_rows = memory == MEMORY_SPANS,
	};
	struct segment_db_reader *reader;
	size_t n_parts;
	int r = segment_db_read(self->store->db, &reading, &reader);

	if (r < 0)
		return r;
	r = vec_push(&self->readers, reader);
	if (r < 0) {
		(void)segment_db_reader_free(reader);
		return r;
	}
	n_parts = segment_view_count(self->segments);
	r = add_all_stored(self, reader);
	if (r == 0)
		r = add_all_memory(self, reader);
	/* Earlier loads have all of it. */
	if (segment_view_count(self->segments) == n_parts) {
		self->readers.count--;
		(void)segment_db_reader_free(reader);
	}
	return r;
}

static int view_find_series(struct store_view *view, const struct store_series_query *query,
			    struct arena *arena, struct store_series **ret_series,
			    size_t *ret_count)
{
	struct engine_view *self = engine_view_of(view);
	int r = load(self, query, MEMORY_ROWS);

	if (r == 0)
		r = segment_view_find_series(self->segments, query, arena, ret_series, ret_count);
	return r < 0 ? r : view_complete_hosts(self, *ret_series, *ret_count);
}

static size_t count_damaged(const struct engine_view *self)
{
	size_t n = segment_view_damaged(self->segments);

	for (size_t i = 0; i < self->readers.count; i++)
		n += segment_db_reader_damaged(self->readers.items[i]);
	return n;
}

static int view_sum(struct store_view *view, const struct store_sum_query *query,
		    struct store_sums *ret_sums)
{
	struct engine_view *self = engine_view_of(view);
	uint64_t range[2];
	int r = segment_view_sum(self->segments, query, ret_sums, range);

	if (r < 0)
		return r;
	ret_sums->n_damaged_blocks = count_damaged(self);
	ret_sums->from_slot = range[0];
	ret_sums->to_slot = range[1];
	return 0;
}

static int view_scan(struct store_view *view, const struct store_range *range,
		     store_row_function function, void *arg)
{
	struct engine_view *self = engine_view_of(view);
	int r = segment_view_scan(self->segments, range, function, arg);

	return r < 0 ? r : (int)MIN(count_damaged(self), (size_t)INT_MAX);
}

static int view_load_stacks(struct store_view *view, const uint64_t *ids, size_t count,
			    struct arena *arena, struct store_stack *ret_stacks)
{
	return segment_view_load_stacks(engine_view_of(view)->segments, ids, count, arena,
					ret_stacks);
}

static int view_load_executables(struct store_view *view, const uint32_t *ids, size_t count,
				 struct arena *arena, struct store_executable *ret_executables)
{
	return segment_view_load_executables(engine_view_of(view)->segments, ids, count, arena,
					     ret_executables);
}

static int view_load_code_objects(struct store_view *view, const uint32_t *ids, size_t count,
				  struct arena *arena, struct store_code_object *ret_objects)
{
	return segment_view_load_code_objects(engine_view_of(view)->segments, ids, count, arena,
					      ret_objects);
}

static int view_paths_of(struct store_view *view, const struct store_mapped_file *files,
			 size_t count, struct arena *arena, const char **ret_paths)
{
	(void)arena;
	segment_view_paths_of(engine_view_of(view)->segments, files, count, ret_paths);
	return 0;
}

static int view_named_frames(struct store_view *view, const uint64_t *addresses, size_t count,
			     struct arena *arena, const char **ret_names)
{
	(void)arena;
	segment_view_named_frames(engine_view_of(view)->segments, addresses, count, ret_names);
	return 0;
}

static int view_removed_until(struct store_view *view, uint64_t *ret_slot,
			      enum store_removal *ret_reason)
{
	return segment_store_removed_until(engine_view_of(view)->store, ret_slot, ret_reason);
}

static struct store_view *view_close(struct store_view *view)
{
	struct engine_view *self = engine_view_of(view);

	(void)segment_view_free(self->segments);
	for (size_t i = 0; i < self->readers.count; i++)
		(void)segment_db_reader_free(self->readers.items[i]);
	vec_release(&self->readers);
	(void)hash_table_free(self->hours);
	(void)hash_table_free(self->hosts);
	(void)arena_free(self->arena);
	free(self);
	return NULL;
}

/* Makes services of another view valid in @self and @arena. */
static int adopt_services(struct engine_view *self, struct arena *arena,
			  struct store_active_service *services, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct store_active_service *service = &services[i];
		struct event_type_info *info = arena_alloc(arena, sizeof(*info));
		const struct segment_part_head head = { .event = service->event->name,
							.unit = service->event->unit,
							.event_kind = service->event->kind };
		int r;

		if (!info)
			return -ENOMEM;
		r = segment_view_add_event(self->segments, &head, info);
		if (r < 0)
			return r;
		service->name = arena_copy_text(arena, service->name, strlen(service->name));
		if (!service->name)
			return -ENOMEM;
		service->type = info->type;
		service->event = info;
	}
	return 0;
}

/*
 * The segments of a list are of a view of its own, because those in memory have no rows: later
 * questions to @view need them.
 */
static int view_active_services(struct store_view *view, const struct store_series_query *query,
				struct arena *arena, struct store_active_service **ret_services,
				size_t *ret_count)
{
	struct engine_view *self = engine_view_of(view);
	const struct store_view_options options = { .tenant = view->tenant,
						    .cancel = view->cancel,
						    .memory = view->memory };
	scoped(store_view_closep) struct store_view *list = NULL;
	int r = segment_store_open_view(&self->store->store, &options, &list);

	if (r == 0)
		r = load(engine_view_of(list), query, MEMORY_SPANS);
	if (r == 0)
		r = segment_view_active_services(engine_view_of(list)->segments, query, arena,
						 ret_services, ret_count);
	return r < 0 ? r : adopt_services(self, arena, *ret_services, *ret_count);
}

static const struct store_view_operations view_operations = {
	.find_series = view_find_series,
	.sum = view_sum,
	.scan = view_scan,
	.scan_coverage = view_scan_coverage,
	.scan_counters = view_scan_counters,
	.list_hosts = view_list_hosts,
	.load_stacks = view_load_stacks,
	.load_executables = view_load_executables,
	.load_code_objects = view_load_code_objects,
	.paths_of = view_paths_of,
	.named_frames = view_named_frames,
	.find_executable = view_find_executable,
	.find_event_type = view_find_event_type,
	.list_services = view_list_services,
	.active_services = view_active_services,
	.last_slot = view_last_slot,
	.list_label_names = view_list_label_names,
	.removed_until = view_removed_until,
	.close = view_close,
};

static int make_parts(struct engine_view *self)
{
	const struct segment_view_options options = {
		.store = { .tenant = self->view.tenant,
			   .cancel = self->view.cancel,
			   .memory = self->view.memory },
		.max_part_bytes = SEGMENT_VIEW_MAX_PART_BYTES,
		.max_bytes = MAX_VIEW_BYTES,
		.processes = self->store->processes,
	};
	int r = segment_view_new(&options, &self->segments);

	if (r == 0)
		r = arena_new_in(MAX_VIEW_BYTES, self->view.memory, &self->arena);
	if (r == 0)
		r = hash_table_new(sizeof(struct hour_key), sizeof(uint64_t), 0, &self->hours);
	return r;
}

int segment_store_open_view(struct store *store, const struct store_view_options *options,
			    struct store_view **ret_view)
{
	struct engine_view *self = calloc(1, sizeof(*self));
	int r;

	if (!self)
		return -ENOMEM;
	*self = (struct engine_view){
		.view = { .operations = &view_operations,
			  .tenant = options->tenant,
			  .cancel = options->cancel,
			  .memory = options->memory },
		.store = segment_store_of(store),
	};
	r = make_parts(self);
	if (r < 0) {
		(void)view_close(&self->view);
		return r;
	}
	*ret_view = &self->view;
	return 0;
}
