/* SPDX-License-Identifier: Apache-2.0 */

/*
 * /usr/lib/debug holds many files twice, under their path and as a link under .build-id. Therefore
 * links are not followed, and a file with several names is added once.
 */

#include <fts.h>
#include <string.h>
#include <sys/stat.h>

#include "common/hash_table.h"
#include "common/log.h"
#include "symbolizer/cli/upload/upload_pool.h"

struct seen_file {
	uint64_t device;
	uint64_t inode;
};

void upload_list_release(struct upload_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i].path);
	vec_release(list);
}

static int push(struct upload_list *list, const char *path, bool is_named)
{
	scoped_free char *copy = strdup(path);
	int r = copy ? vec_push(list, (struct upload_item){ .path = copy, .is_named = is_named })
		     : -ENOMEM;

	if (r == 0)
		copy = NULL;
	return r;
}

static int visit(struct upload_list *list, struct hash_table *seen, const FTSENT *entry,
		 bool is_first)
{
	const struct seen_file file = { .device = entry->fts_statp->st_dev,
					.inode = entry->fts_statp->st_ino };
	int r;

	switch (entry->fts_info) {
	case FTS_F:
		r = hash_table_insert(seen, &file, NULL);
		return r <= 0 ? r : push(list, entry->fts_path, is_first);
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		return log_error_errno(entry->fts_errno, "cannot look into '%s': %m",
				       entry->fts_path);
	default:
		return 0;
	}
}

static int walk(struct upload_list *list, const char *path)
{
	scoped(hash_table_freep) struct hash_table *seen = NULL;
	char *roots[] = { (char *)path, NULL };
	FTS *tree;
	FTSENT *entry;
	int r;

	r = hash_table_new(sizeof(struct seen_file), 0, 0, &seen);
	if (r < 0)
		return r;
	tree = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
	if (!tree)
		return log_error_errno(errno, "cannot look into '%s': %m", path);
	while (r >= 0 && (entry = fts_read(tree)))
		r = visit(list, seen, entry, entry->fts_level == FTS_ROOTLEVEL);
	(void)fts_close(tree);
	return MIN(r, 0);
}

int upload_list_add(struct upload_list *list, const char *path, bool recursive)
{
	return recursive ? walk(list, path) : push(list, path, true);
}
