/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/fake_debuginfo.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/elf/elf_code.h"
#include "common/file.h"

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
		*file = (struct fake_debuginfo_file){ .id = *id, .has_code = true };
	}
	(void)snprintf(file->path, sizeof(file->path), "%s", path);
	file->error = 0;
	file->generation = ++store->generation;
	pthread_mutex_unlock(&store->lock);
}

void fake_debuginfo_put_split(struct debuginfo_store *store, const struct executable_id *id,
			      const char *path)
{
	struct fake_debuginfo_file *file;

	pthread_mutex_lock(&store->lock);
	file = find_file(store, id);
	(void)snprintf(file->split_path, sizeof(file->split_path), "%s", path);
	file->split_generation = ++store->generation;
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

/* Each call of fake_debuginfo_put() gives the file a new content hash. */
static struct debuginfo_entry entry_of(const struct fake_debuginfo_file *file,
				       enum debuginfo_kind kind)
{
	const bool is_split = kind == DEBUGINFO_KIND_SPLIT;
	const uint64_t generation = is_split ? file->split_generation : file->generation;
	struct debuginfo_entry entry = {
		.id = file->id,
		.generation = generation,
		.is_split = is_split,
		.has_code = file->has_code && !is_split,
	};

	memcpy(&entry.hash, &generation, sizeof(generation));
	return entry;
}

/* Returns the file of @id for @kind, or NULL. The caller holds the lock. */
static struct fake_debuginfo_file *find_kind(struct debuginfo_store *store,
					     const struct debuginfo_key *key)
{
	struct fake_debuginfo_file *file = find_file(store, &key->id);

	if (file && key->kind == DEBUGINFO_KIND_SPLIT)
		return file->split_path[0] ? file : NULL;
	if (!file || (file->has_code ? key->kind == DEBUGINFO_KIND_DEBUGINFO
				     : key->kind == DEBUGINFO_KIND_EXECUTABLE))
		return NULL;
	return file->without_names && key->kind == DEBUGINFO_KIND_NAMES ? NULL : file;
}

int debuginfo_find_kind(struct debuginfo_store *store, const struct debuginfo_key *key,
			struct debuginfo_entry *ret_entry)
{
	struct fake_debuginfo_file *file;

	pthread_mutex_lock(&store->lock);
	store->n_finds++;
	file = find_kind(store, key);
	if (file)
		*ret_entry = entry_of(file, key->kind);
	pthread_mutex_unlock(&store->lock);
	return file != NULL;
}

int debuginfo_find(struct debuginfo_store *store, const struct executable_id *id,
		   struct debuginfo_entry *ret_entry)
{
	const struct debuginfo_key key = { .id = *id, .kind = DEBUGINFO_KIND_NAMES, .path = "" };

	return debuginfo_find_kind(store, &key, ret_entry);
}

/* The caller holds the lock, which is released while the file is blocked. */
static int open_file(struct debuginfo_store *store, struct fake_debuginfo_file *file,
		     enum debuginfo_kind kind)
{
	int fd;

	file->n_opened++;
	while (store->all_held || store->held == file) {
		store->n_waiting++;
		pthread_cond_broadcast(&store->changed);
		pthread_cond_wait(&store->changed, &store->lock);
		store->n_waiting--;
	}
	if (file->error)
		return file->error;
	fd = open(kind == DEBUGINFO_KIND_SPLIT ? file->split_path : file->path,
		  O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int debuginfo_read_code(struct debuginfo_store *store, const struct executable_id *id,
			struct debuginfo_code *pieces, size_t count, uint16_t *ret_machine)
{
	const struct debuginfo_key key = { .id = *id,
					   .kind = DEBUGINFO_KIND_EXECUTABLE,
					   .path = "" };
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	struct debuginfo_entry entry;
	scoped_fd int fd = -1;
	int r = debuginfo_open_kind(store, &key, &fd, &entry);

	if (r > 0 && (r = elf_file_open(fd, &elf)) == 0)
		*ret_machine = elf->machine;
	for (size_t i = 0; elf && i < count && r == 0; i++) {
		struct elf_code code = {};

		if (elf_code_find(elf, pieces[i].elf_addr, &code) > 0)
			pieces[i].n_bytes = MIN(pieces[i].size, (size_t)code.size);
		r = pread_all(fd, pieces[i].bytes, pieces[i].n_bytes, code.file_offset);
	}
	return elf && r == 0 ? 1 : r;
}

int debuginfo_open_kind(struct debuginfo_store *store, const struct debuginfo_key *key, int *ret_fd,
			struct debuginfo_entry *ret_entry)
{
	struct fake_debuginfo_file *file;
	int r = 0;

	pthread_mutex_lock(&store->lock);
	file = find_kind(store, key);
	if (file) {
		r = open_file(store, file, key->kind);
		*ret_entry = entry_of(file, key->kind);
	}
	pthread_mutex_unlock(&store->lock);
	if (r < 0 || !file)
		return r;
	*ret_fd = r;
	return 1;
}

int debuginfo_open_file(struct debuginfo_store *store, const struct executable_id *id, int *ret_fd,
			struct debuginfo_entry *ret_entry)
{
	const struct debuginfo_key key = { .id = *id, .kind = DEBUGINFO_KIND_NAMES, .path = "" };

	return debuginfo_open_kind(store, &key, ret_fd, ret_entry);
}

/* Finds only .gnu_debugaltlink, with the bytes of the file alt_link_path. */
int debuginfo_open_section(struct debuginfo_store *store, const struct executable_id *id,
			   const char *name, int *ret_fd, struct debuginfo_range *ret_range)
{
	const struct fake_debuginfo_file *file;
	struct stat status;
	int fd = -1;

	pthread_mutex_lock(&store->lock);
	file = find_file(store, id);
	if (file && file->alt_link_path[0] && strcmp(name, ".gnu_debugaltlink") == 0)
		fd = open(file->alt_link_path, O_RDONLY | O_CLOEXEC);
	pthread_mutex_unlock(&store->lock);
	if (fd < 0)
		return 0;
	assert(fstat(fd, &status) == 0);
	*ret_fd = fd;
	*ret_range = (struct debuginfo_range){ .offset = 0, .size = (uint64_t)status.st_size };
	return 1;
}

void fake_debuginfo_remove(struct debuginfo_store *store, const struct executable_id *id)
{
	pthread_mutex_lock(&store->lock);
	*find_file(store, id) = store->files[--store->n_files];
	store->generation++;
	pthread_mutex_unlock(&store->lock);
}

void fake_debuginfo_describe(struct debuginfo_store *store, const struct executable_id *id,
			     const struct fake_debuginfo_file *description)
{
	struct fake_debuginfo_file *file;

	pthread_mutex_lock(&store->lock);
	file = find_file(store, id);
	file->has_code = description->has_code;
	file->without_names = description->without_names;
	memcpy(file->alt_link_path, description->alt_link_path, sizeof(file->alt_link_path));
	pthread_mutex_unlock(&store->lock);
}

int debuginfo_want(struct debuginfo_store *store, const struct executable_id *id,
		   const uint8_t agent_id[16])
{
	(void)agent_id;
	pthread_mutex_lock(&store->lock);
	store->last_wanted = *id;
	pthread_mutex_unlock(&store->lock);
	return 1;
}
