/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For the tests of the debuginfo store: a store in the folder of the test, uploads of the sample
 * program and its variants, generated programs of any size, and queries of the database.
 */

#include <dirent.h>
#include <sqlite3.h>

#include "common/file.h"
#include "symbolizer/debuginfo/debuginfo_store.h"
#include "tests/support/unit.h"

/* Path prefix of the sample programs; CMake defines it. */
#ifndef SAMPLE
#define SAMPLE "sample"
#endif

#define SAMPLE_FULL     SAMPLE ".full"
#define SAMPLE_STRIPPED SAMPLE ".stripped"
#define SAMPLE_DEBUG    SAMPLE ".debug"

#define MAX_SAMPLE_BYTES (256 * MIB)

static inline struct debuginfo_store *open_debuginfo_at(const char *folder,
							const struct clock *clock)
{
	struct debuginfo_store *store = NULL;

	assert_ok(debuginfo_store_open(folder, clock, &store));
	return store;
}

/* The build-ID with which CMakeLists.txt links the sample. */
static inline struct executable_id sample_identity(void)
{
	struct executable_id id;

	assert_ok(executable_id_parse("00112233445566778899aabbccddeeff00112233", &id));
	return id;
}

static inline struct debuginfo_key key_of(const struct executable_id *id, enum debuginfo_kind kind)
{
	return (struct debuginfo_key){ .id = *id, .kind = kind, .path = "" };
}

static inline void read_sample(const char *path, struct bytes *bytes)
{
	*bytes = BYTES_INIT(MAX_SAMPLE_BYTES);
	assert_ok(file_read(path, bytes));
}

static inline int put_bytes(struct debuginfo_store *store, const struct executable_id *id,
			    enum debuginfo_origin origin, struct bytes_view content,
			    struct debuginfo_entry *entry)
{
	scoped(debuginfo_upload_freep) struct debuginfo_upload *upload = NULL;
	char message[DEBUGINFO_MESSAGE_SIZE];

	assert_ok(debuginfo_upload_begin(store, id, origin, &upload, message));
	assert_ok(debuginfo_upload_append(upload, content, message));
	return debuginfo_upload_commit(upload, entry, message);
}

static inline int put_file(struct debuginfo_store *store, enum debuginfo_origin origin,
			   const char *path, struct debuginfo_entry *entry)
{
	scoped(bytes_release) struct bytes content = {};
	struct executable_id id = sample_identity();

	read_sample(path, &content);
	return put_bytes(store, &id, origin, bytes_view_of(&content), entry);
}

static inline int put_source(struct debuginfo_store *store, enum debuginfo_origin origin,
			     const char *path, const char *text, struct debuginfo_entry *entry)
{
	scoped(debuginfo_upload_freep) struct debuginfo_upload *upload = NULL;
	struct executable_id id = sample_identity();
	char message[DEBUGINFO_MESSAGE_SIZE];

	assert_ok(debuginfo_upload_begin(store, &id, origin, &upload, message));
	assert_ok(debuginfo_upload_as_source(upload, path, message));
	assert_ok(debuginfo_upload_append(
		upload, (struct bytes_view){ (const uint8_t *)text, strlen(text) }, message));
	return debuginfo_upload_commit(upload, entry, message);
}

/*
 * The sample with a build-ID of @seed, and with @extra_bytes appended that do not compress. Its
 * sections are still within the file.
 */
static inline struct executable_id make_program(uint32_t seed, size_t extra_bytes,
						struct bytes *ret_elf)
{
	struct executable_id sample = sample_identity(), id;
	uint8_t bytes[20] = {};
	uint32_t random = seed * 2654435761u + 1;
	uint8_t *note;

	memcpy(bytes, &seed, sizeof(seed));
	bytes[19] = 1;
	assert_ok(executable_id_set(&id, EXECUTABLE_ID_GNU, bytes, sizeof(bytes)));
	read_sample(SAMPLE_FULL, ret_elf);
	note = memmem(ret_elf->data, ret_elf->size, sample.bytes, sample.size);
	assert_non_null(note);
	memcpy(note, bytes, sizeof(bytes));
	for (size_t i = 0; i < extra_bytes; i += sizeof(random)) {
		random ^= random << 13;
		random ^= random >> 17;
		random ^= random << 5;
		assert_ok(bytes_append(ret_elf, &random, sizeof(random)));
	}
	return id;
}

static inline void debuginfo_sql(const char *folder, const char *sql)
{
	scoped_free char *path = path_in(folder, "debuginfo.db");
	char *error = NULL;
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK)
		fail_msg("%s: %s", sql, error);
	(void)sqlite3_close(db);
}

static inline int64_t debuginfo_number(const char *folder, const char *sql)
{
	scoped_free char *path = path_in(folder, "debuginfo.db");
	sqlite3_stmt *row = NULL;
	sqlite3 *db = NULL;
	int64_t number;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	number = sqlite3_column_int64(row, 0);
	(void)sqlite3_finalize(row);
	(void)sqlite3_close(db);
	return number;
}

/* The bytes of @fd at @offset equal those of @wanted. */
static inline void assert_bytes_at(int fd, uint64_t offset, const struct bytes *wanted,
				   uint64_t wanted_offset, size_t size)
{
	scoped_free uint8_t *got = malloc(MAX(size, (size_t)1));

	assert_non_null(got);
	assert_true(wanted_offset + size <= wanted->size);
	assert_ok(pread_all(fd, got, size, offset));
	assert_memory_equal(got, wanted->data + wanted_offset, size);
}

/* The temporary files of uploads in @folder. */
static inline size_t count_leftovers(const char *folder)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	size_t count = 0;

	while ((entry = readdir(dir)))
		count += strncmp(entry->d_name, "debuginfo-upload-", 17) == 0;
	(void)closedir(dir);
	return count;
}
