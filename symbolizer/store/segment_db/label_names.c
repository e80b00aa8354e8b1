/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/segment_db/label_names.h"

#include <string.h>

#include "common/arena.h"
#include "common/hash.h"
#include "symbolizer/store/segment/segment_labels.h"

struct name_key {
	struct hash128 tenant, name;
	uint64_t day;
};

struct addition {
	struct label_names *names;
	const struct labeled_segment *segment;
	struct name_key key;
	struct arena *arena;
};

void label_names_release(struct label_names *names)
{
	names->known = hash_table_free(names->known);
	vec_release(&names->names);
}

static int add_name(void *arg, struct bytes_view name)
{
	struct addition *addition = arg;
	struct label_name added = { .day = addition->segment->day,
				    .tenant = addition->segment->tenant };
	int r;

	addition->key.name = hash128_of(name.data, name.size);
	r = hash_table_insert(addition->names->known, &addition->key, NULL);
	if (r <= 0)
		return r;
	added.name = arena_copy_text(addition->arena, (const char *)name.data, name.size);
	return added.name ? vec_push(&addition->names->names, added) : -ENOMEM;
}

int label_names_add(struct label_names *names, const struct labeled_segment *segment,
		    struct arena *arena)
{
	struct addition addition = { .names = names, .segment = segment, .arena = arena };
	int r = 0;

	addition.key.tenant = hash128_of(segment->tenant, strlen(segment->tenant));
	addition.key.day = segment->day;
	if (!names->known)
		r = hash_table_new(sizeof(struct name_key), 0, 0, &names->known);
	return r < 0 ? r : segment_label_names(segment->segment, add_name, &addition);
}

int label_names_write(const struct label_names *names, segment_day day, struct sqlite_db *file)
{
	int r = 0;

	for (size_t i = 0; i < names->names.count && r == 0; i++) {
		const struct label_name *name = &names->names.items[i];

		if (name->day == day)
			r = sqlite_run(file, DAY_SQL_LABEL_NAME_ADD, SQL_TEXT(name->tenant),
				       SQL_TEXT(name->name));
	}
	return r;
}
