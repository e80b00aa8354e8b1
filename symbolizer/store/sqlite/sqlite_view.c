/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views. A view has no transaction and no connection: each function borrows a reader from the pool
 * and reads the newest committed state. An open view therefore delays neither checkpoints of the
 * WAL nor retention. Its IDs stay valid nevertheless, because an ID of hearth.db is never given to
 * another object.
 */

#include "symbolizer/store/sqlite/read.h"
#include "symbolizer/store/sqlite/sqlite_store_private.h"

struct sqlite_view {
	struct store_view view;
	struct sqlite_store *store;
};

static struct sqlite_store *store_of(struct store_view *view)
{
	return container_of(view, struct sqlite_view, view)->store;
}

static struct reader reader_for(struct store_view *view, enum reader_kind kind)
{
	return reader_borrow(store_of(view)->readers, kind);
}

static int view_find_series(struct store_view *view, const struct store_series_query *query,
			    struct arena *arena, struct store_series **ret_series,
			    size_t *ret_count)
{
	scoped(reader_returnp) struct reader reader = reader_for(view, READER_SCAN);

	return read_find_series(reader.set, view->tenant, query, arena, ret_series, ret_count);
}

static int view_scan(struct store_view *view, const struct store_range *range,
		     store_row_function function, void *arg)
{
	scoped(reader_returnp) struct reader reader = reader_for(view, READER_SCAN);

	return read_scan(reader.set, view, range, function, arg);
}

static int view_sum(struct store_view *view, const struct store_sum_query *query,
		    struct store_sums *ret_sums)
{
	scoped(reader_returnp) struct reader reader = reader_for(view, READER_SCAN);

	return read_sum(reader.set, view, query, ret_sums);
}

static int view_scan_coverage(struct store_view *view, const uint32_t *hosts, size_t count,
			      uint64_t from_slot, uint64_t to_slot,
			      store_coverage_function function, void *arg)
{
	scoped(reader_returnp) struct reader reader = reader_for(view, READER_SCAN);

	return read_scan_coverage(reader.set, hosts, count, from_slot, to_slot, function, arg);
}

static int view_scan_counters(struct store_view *view, const struct store_counter_query *query,
			      store_counters_function function, void *arg)
{
	scoped(reader_returnp) struct reader reader = reader_for(view, READER_SCAN);

	return read_scan_counters(reader.set, query, function, arg);
}

static int view_load_stacks(struct store_view *view, const uint64_t *stack_ids, size_t count,
			    struct arena *arena, struct store_stack *ret_stacks)
{
	struct sqlite_store *self = store_of(view);
	scoped(reader_returnp) struct reader reader = reader_borrow(self->readers, READER_SCAN);
	scoped(sqlite_end_readp) struct sqlite_db *reading = NULL;
	struct sqlite_db *hearth;
	int r;

	r = connection_set_hearth(reader.set, &hearth);
	if (r == 0)
		r = sqlite_begin_read(hearth, &reading);
	return r < 0 ? r : stacks_load(self->nodes, hearth, stack_ids, count, arena, ret_stacks);
}

static int view_load_executables(struct store_view *view, const uint32_t *ids, size_t count,
				 struct arena *arena, struct store_executable *ret_executables)
{
	scoped(reader_returnp) struct reader reader = reader_for(view, READER_SCAN);

	return read_executables(reader.set, ids, count, arena, ret_executables);
}

static int view_load_code_objects(struct store_view *view, const uint32_t *ids, size_t count,
				  struct arena *arena, struct store_code_object *ret_objects)
{
	scoped(reader_returnp) struct reader reader = reader_for(view, READER_SCAN);

	return read_code_objects(reader.set, ids, count, arena, ret_objects);
}

static int view_find_event_type(struct store_view *view, const char *name, struct arena *arena,
				struct event_type_info *ret_info)
{
	scoped(reader_returnp) struct reader reader = reader_for(view, READER_LOOKUP);

	return read_event_type(reader.set, view->tenant, name, arena, ret_info);
}

/* Most rows of one lookup that may use the reader reserved for quick ones. */
#define LOOKUP_MAX_ROWS 16

static enum reader_kind kind_of(size_t n_rows)
{
	return n_rows > LOOKUP_MAX_ROWS ? READER_SCAN : READER_LOOKUP;
}

static int view_paths_of(struct store_view *view, const struct store_mapped_file *files,
			 size_t count, struct arena *arena, const char **ret_paths)
{
	scoped(reader_returnp) struct reader reader = reader_for(view, kind_of(count));

	return read_paths_of(reader.set, files, count, arena, ret_paths);
}

static int view_named_frames(struct store_view *view, const uint64_t *addresses, size_t count,
			     struct arena *arena, const char **ret_names)
{
	scoped(reader_returnp) struct reader reader = reader_for(view, kind_of(count));

	return read_named_frames(reader.set, addresses, count, arena, ret_names);
}

static int view_list_hosts(struct store_view *view, struct arena *arena,
			   struct store_host **ret_hosts, size_t *ret_count)
{
	scoped(reader_returnp) struct reader reader = reader_for(view, READER_SCAN);

	return read_list_hosts(reader.set, view->tenant, arena, ret_hosts, ret_count);
}

static int view_find_executable(struct store_view *view, const struct executable_id *identity,
				struct arena *arena, struct store_executable *ret_executable)
{
	scoped(reader_returnp) struct reader reader = reader_for(view, READER_LOOKUP);

	return read_executable_by_identity(reader.set, view->tenant, identity, arena,
					   ret_executable);
}

static int view_list_services(struct store_view *view, size_t max, struct arena *arena,
			      struct store_service **ret_services, size_t *ret_count)
{
	scoped(reader_returnp) struct reader reader = reader_for(view, READER_SCAN);

	return read_list_services(reader.set, view->tenant, max, arena, ret_services, ret_count);
}

static int view_active_services(struct store_view *view, const struct store_series_query *query,
				struct arena *arena, struct store_active_service **ret_services,
				size_t *ret_count)
{
	scoped(reader_returnp) struct reader reader = reader_for(view, READER_SCAN);

	return read_active_services(reader.set, view->tenant, query, arena, ret_services,
				    ret_count);
}

static int view_last_slot(struct store_view *view, const char *service, enum event_type type,
			  uint64_t *ret_slot)
{
	scoped(reader_returnp) struct reader reader = reader_for(view, READER_SCAN);

	return read_last_slot(reader.set, view->tenant, service, type, ret_slot);
}

static int view_list_label_names(struct store_view *view, const char *from, size_t max,
				 struct arena *arena, const char ***ret_names, size_t *ret_count)
{
	scoped(reader_returnp) struct reader reader = reader_for(view, READER_SCAN);

	return read_list_label_names(reader.set, view->tenant, from, max, arena, ret_names,
				     ret_count);
}

static int view_removed_until(struct store_view *view, uint64_t *ret_slot,
			      enum store_removal *ret_reason)
{
	return retention_removed_until(container_of(view, struct sqlite_view, view)->store,
				       ret_slot, ret_reason);
}

static struct store_view *view_close(struct store_view *view)
{
	free(container_of(view, struct sqlite_view, view));
	return NULL;
}

static const struct store_view_operations view_operations = {
	.find_series = view_find_series,
	.sum = view_sum,
	.scan = view_scan,
	.scan_coverage = view_scan_coverage,
	.scan_counters = view_scan_counters,
	.load_stacks = view_load_stacks,
	.load_executables = view_load_executables,
	.load_code_objects = view_load_code_objects,
	.find_event_type = view_find_event_type,
	.paths_of = view_paths_of,
	.named_frames = view_named_frames,
	.list_hosts = view_list_hosts,
	.find_executable = view_find_executable,
	.list_services = view_list_services,
	.active_services = view_active_services,
	.last_slot = view_last_slot,
	.list_label_names = view_list_label_names,
	.removed_until = view_removed_until,
	.close = view_close,
};

int sqlite_view_open(struct store *store, const struct store_view_options *options,
		     struct store_view **ret_view)
{
	struct sqlite_view *self = calloc(1, sizeof(*self));

	if (!self)
		return -ENOMEM;
	*self = (struct sqlite_view){
		.view = { .operations = &view_operations,
			  .tenant = options->tenant,
			  .cancel = options->cancel,
			  .memory = options->memory },
		.store = sqlite_store_of(store),
	};
	*ret_view = &self->view;
	return 0;
}
