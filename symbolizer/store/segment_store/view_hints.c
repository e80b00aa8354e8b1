/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up names, times, executables and event types without decoding segments. */

#include "symbolizer/store/segment_db/event.h"
#include "symbolizer/store/segment_db/executables.h"
#include "symbolizer/store/segment_db/hints.h"
#include "symbolizer/store/segment_store/view_private.h"

int view_list_services(struct store_view *view, size_t max, struct arena *arena,
		       struct store_service **ret_services, size_t *ret_count)
{
	return segment_db_list_services(engine_view_of(view)->store->db, view->tenant, max, arena,
					ret_services, ret_count);
}

int view_last_slot(struct store_view *view, const char *service, enum event_type type,
		   uint64_t *ret_slot)
{
	const struct engine_view *self = engine_view_of(view);
	const struct segment_db_names names = { .tenant = view->tenant,
						.service = service,
						.event = view_event_name(self, type) };

	return segment_db_last_slot(self->store->db, &names, ret_slot);
}

int view_list_label_names(struct store_view *view, const char *from, size_t max,
			  struct arena *arena, const char ***ret_names, size_t *ret_count)
{
	const struct segment_db_label_query query = { .tenant = view->tenant,
						      .from = from,
						      .max = max };

	return segment_db_list_label_names(engine_view_of(view)->store->db, &query, arena,
					   ret_names, ret_count);
}

/* A request with more look-ups, a list of debuginfo, reads all executables at once. */
#define MAX_SINGLE_LOOKUPS 4

static int add_executable(void *arg, const struct segment_db_executable *executable)
{
	struct engine_view *self = arg;
	const struct segment_view_file file = { .identity = executable->identity,
						.role = executable->role,
						.name = executable->name,
						.path = executable->path };
	uint32_t id;

	return segment_view_add_executable(self->segments, &file, &id);
}

/* 0, also if it is unknown. */
static int load_executable(struct engine_view *self, const struct executable_id *identity)
{
	struct segment_db *db = self->store->db;
	struct segment_db_executable executable;
	int r;

	if (self->has_executables)
		return 0;
	if (self->n_executable_lookups++ < MAX_SINGLE_LOOKUPS) {
		r = segment_db_find_executable(db, self->view.tenant, identity, self->arena,
					       &executable);
		return r <= 0 ? r : add_executable(self, &executable);
	}
	r = segment_db_visit_executables(db, self->view.tenant, add_executable, self);
	self->has_executables = r == 0;
	return r;
}

int view_find_executable(struct store_view *view, const struct executable_id *identity,
			 struct arena *arena, struct store_executable *ret_executable)
{
	struct engine_view *self = engine_view_of(view);
	int r = load_executable(self, identity);

	return r < 0 ? r
		     : segment_view_find_executable(self->segments, identity, arena,
						    ret_executable);
}

int view_find_event_type(struct store_view *view, const char *name, struct arena *arena,
			 struct event_type_info *ret_info)
{
	struct engine_view *self = engine_view_of(view);
	struct segment_part_head head = {};
	struct event_type_info found;
	int r = segment_db_find_event(self->store->db, view->tenant, name, arena, &found);

	if (r <= 0)
		return r;
	head.event = found.name;
	head.unit = found.unit;
	head.event_kind = found.kind;
	r = segment_view_add_event(self->segments, &head, ret_info);
	return r < 0 ? r : 1;
}
