/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/file_paths.h"

/* Paths that one call of the store reads: it holds one of few readers meanwhile. */
#define PATHS_PER_CALL ((size_t)8192)

/* The hash table compares keys byte by byte, so the struct must have no padding. */
struct path_key {
	uint64_t process; /* ID; 0: all with this set */
	uint64_t path_set;
	uint64_t executable;
};

static struct path_key key_of(const struct store_process *process, uint32_t executable)
{
	return (struct path_key){
		.process = process->path_set == 0 ? process->id : 0,
		.path_set = process->path_set,
		.executable = executable,
	};
}

int file_paths_init(struct file_paths *paths)
{
	*paths = (struct file_paths){};
	return hash_table_new(sizeof(struct path_key), sizeof(size_t), 0, &paths->numbers);
}

void file_paths_release(struct file_paths *paths)
{
	paths->numbers = hash_table_free(paths->numbers);
	vec_release(&paths->files);
}

int file_paths_want(struct file_paths *paths, const struct store_process *process,
		    uint32_t executable)
{
	const struct store_mapped_file file = { process->id, executable };
	const struct path_key key = key_of(process, executable);
	void *number;
	int r;

	r = hash_table_insert(paths->numbers, &key, &number);
	if (r <= 0)
		return r;
	*(size_t *)number = paths->files.count;
	return vec_push(&paths->files, file);
}

int file_paths_read(struct file_paths *paths, struct store_view *view, struct arena *arena)
{
	const size_t count = paths->files.count;

	paths->paths = arena_alloc_array(arena, count + 1, sizeof(*paths->paths));
	if (!paths->paths)
		return -ENOMEM;
	for (size_t i = 0; i < count; i += PATHS_PER_CALL) {
		int r;

		if (cancel_is_requested(view->cancel))
			return -ECANCELED;
		r = store_paths_of(view, paths->files.items + i, MIN(PATHS_PER_CALL, count - i),
				   arena, paths->paths + i);
		if (r < 0)
			return r;
	}
	paths->n_read = count;
	return 0;
}

const char *file_paths_find(const struct file_paths *paths, const struct store_process *process,
			    uint32_t executable)
{
	const struct path_key key = key_of(process, executable);
	const size_t *number = hash_table_find(paths->numbers, &key);

	assert(number && *number < paths->n_read);
	return paths->paths[*number];
}
