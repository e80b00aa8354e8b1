/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/sqlite/snapshot_set.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/scoped.h"

void snapshot_set_clear(struct snapshot_set *set)
{
	for (size_t i = 0; i < set->files.count; i++)
		(void)sqlite_db_free(set->files.items[i].db);
	vec_clear(&set->files);
}

void snapshot_set_release(struct snapshot_set *set)
{
	snapshot_set_clear(set);
	vec_release(&set->files);
}

int snapshot_set_add(struct snapshot_set *set, const char *folder, const char *name)
{
	struct named_snapshot file = {};
	scoped_free char *path = NULL;
	int r;

	if (asprintf(&path, "%s/%s", folder, name) < 0)
		return -ENOMEM;
	r = vec_reserve(&set->files, 1);
	if (r == 0)
		r = sqlite_snapshot_open(path, &file.db);
	if (r < 0)
		return r;
	(void)snprintf(file.name, sizeof(file.name), "%s", name);
	set->files.items[set->files.count++] = file;
	return 0;
}

int snapshot_set_copy(const struct snapshot_set *set, const char *target)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < set->files.count; i++) {
		const struct named_snapshot *file = &set->files.items[i];
		scoped_free char *path = NULL;

		if (asprintf(&path, "%s/%s", target, file->name) < 0)
			return -ENOMEM;
		r = sqlite_snapshot_copy(file->db, path);
	}
	return r;
}
