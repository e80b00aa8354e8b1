/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/segment_db/walk.h"

static bool is_selected(const struct segment_db_names *names, const struct head_segment *segment)
{
	const struct segment_builder *builder = segment->builder;

	return segment_builder_has_text(builder, HEAD_TENANT, names->tenant) &&
	       (!names->service ||
		segment_builder_has_text(builder, HEAD_SERVICE, names->service)) &&
	       (!names->event || segment_builder_has_text(builder, HEAD_EVENT, names->event));
}

int walk_memory(struct segment_db *db, const struct segment_db_names *names,
		memory_function function, void *arg)
{
	struct head_segment segment;
	size_t cursor = 0;
	int r = 0;

	fair_lock_take(&db->inbox_lock);
	while (r == 0 && head_next(db->head, &cursor, &segment))
		if (is_selected(names, &segment))
			r = function(arg, &segment);
	for (size_t i = 0; db->flush && i < db->flush->taken.count && r == 0; i++)
		if (is_selected(names, &db->flush->taken.items[i]))
			r = function(arg, &db->flush->taken.items[i]);
	fair_lock_give(&db->inbox_lock);
	return r;
}

int walk_days(struct segment_db *db, day_function function, void *arg)
{
	const segment_day oldest = segment_db_first_day(db);
	scoped(segment_days_release) struct segment_days days = {};
	int r = day_files_list(db->folder, &days);

	for (size_t i = days.count; i > 0 && r == 0 && days.items[i - 1] >= oldest; i--) {
		scoped(sqlite_db_freep) struct sqlite_db *file = NULL;

		r = day_file_open(db->folder, days.items[i - 1], DAY_FILE_READ, &file);
		if (r > 0)
			r = function(arg, days.items[i - 1], file);
		if (r == -EUCLEAN)
			r = 0;
	}
	return r;
}
