/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/fake_debuginfo.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

void fake_debuginfo_init(struct debuginfo_store *store)
{
	*store = (struct debuginfo_store){ .generation = 1 };
	pthread_mutex_init(&store->lock, NULL);
	pthread_cond_init(&store->changed, NULL);
}

static struct fake_debuginfo_file *find_file(struct debuginfo_store *store,
					     const struct executable_id *id)
{
	for (size_t i = 0; i < store->n_files; i++) {
		if (executable_id_equal(&store->files[i].id, id))
			return &store->files[i];
	}
	return NULL;
}

void fake_debuginfo_put(struct debuginfo_store *store, const struct executable_id *id,
			const char *path)
{
	struct fake_debuginfo_file *file;

	pthread_mutex_lock(&store->lock);
	file = find_file(store, id);
	if (!file) {
		assert(store->n_files < FAKE_DEBUGINFO_MAX_FILES);
		file = &store->files[store->n_files++];
		file->id = *id;
	}
	(void)snprintf(file->path, sizeof(file->path), "%s", path);
	file->error = 0;
	file->generation = ++store->generation;
	pthread_mutex_unlock(&store->lock);
}

void fake_debuginfo_fail(struct debuginfo_store *store, const struct executable_id *id, int error)
{
	pthread_mutex_lock(&store->lock);
	find_file(store, id)->error = error;
	pthread_mutex_unlock(&store->lock);
}

unsigned int fake_debuginfo_opened(struct debuginfo_store *store, const struct executable_id *id)
{
	unsigned int n_opened;

	pthread_mutex_lock(&store->lock);
	n_opened = find_file(store, id)->n_opened;
	pthread_mutex_unlock(&store->lock);
	return n_opened;
}

void fake_debuginfo_hold(struct debuginfo_store *store, const struct executable_id *id)
{
	pthread_mutex_lock(&store->lock);
	store->held = id ? find_file(store, id) : NULL;
	pthread_cond_broadcast(&store->changed);
	pthread_mutex_unlock(&store->lock);
}

void fake_debuginfo_hold_all(struct debuginfo_store *store, bool hold)
{
	pthread_mutex_lock(&store->lock);
	store->all_held = hold;
	pthread_cond_broadcast(&store->changed);
	pthread_mutex_unlock(&store->lock);
}

unsigned int fake_debuginfo_held(struct debuginfo_store *store)
{
	unsigned int n_held;

	pthread_mutex_lock(&store->lock);
	n_held = store->n_waiting;
	pthread_mutex_unlock(&store->lock);
	return n_held;
}

void fake_debuginfo_wait_held(struct debuginfo_store *store)
{
	pthread_mutex_lock(&store->lock);
	while (store->n_waiting == 0)
		pthread_cond_wait(&store->changed, &store->lock);
	pthread_mutex_unlock(&store->lock);
}

uint64_t debuginfo_generation(struct debuginfo_store *store)
{
	uint64_t generation;

	pthread_mutex_lock(&store->lock);
	generation = store->generation;
	pthread_mutex_unlock(&store->lock);
	return generation;
}

int debuginfo_find(struct debuginfo_store *store, const struct executable_id *id,
		   struct debuginfo_entry *ret_entry)
{
	struct fake_debuginfo_file *file;

	pthread_mutex_lock(&store->lock);
	store->n_finds++;
	file = find_file(store, id);
	if (file)
		*ret_entry = (struct debuginfo_entry){ .id = *id, .generation = file->generation };
	pthread_mutex_unlock(&store->lock);
	return file != NULL;
}

int debuginfo_open_file(struct debuginfo_store *store, const struct executable_id *id, int *ret_fd,
			struct debuginfo_entry *ret_entry)
{
	struct fake_debuginfo_file *file;
	int r = 0;

	pthread_mutex_lock(&store->lock);
	file = find_file(store, id);
	if (file) {
		file->n_opened++;
		while (store->all_held || store->held == file) {
			store->n_waiting++;
			pthread_cond_broadcast(&store->changed);
			pthread_cond_wait(&store->changed, &store->lock);
			store->n_waiting--;
		}
		r = file->error ? file->error : open(file->path, O_RDONLY | O_CLOEXEC);
		if (!file->error && r < 0)
			r = -errno;
		*ret_entry = (struct debuginfo_entry){ .id = *id, .generation = file->generation };
	}
	pthread_mutex_unlock(&store->lock);
	if (r < 0)
		return r;
	if (file)
		*ret_fd = r;
	return file != NULL;
}
