/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Included by every unit test: cmocka with the headers that it needs, checks of return values, and
 * a folder that is removed after the test:
 *
 *   static void a_sentence(void **state)
 *   {
 *           const char *folder = *state;
 *           ...
 *   }
 *   in_folder(a_sentence), in the list of tests
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base.h"
#include "common/bytes.h"
#include "common/scoped.h"

/* @r is not a negative errno. */
#define assert_ok(r)                                                                               \
	do {                                                                                       \
		long long unit_r_ = (r);                                                           \
		if (unit_r_ < 0)                                                                   \
			fail_msg("%s: %s", #r, strerror((int)-unit_r_));                           \
	} while (0)

/* assert_errno(file_read(path, &bytes), -ENOENT) */
#define assert_errno(r, expected) assert_int_equal((r), (expected))

/* The bytes are exactly those of @text, without its NUL. */
#define assert_bytes_equal_text(bytes, text)                                                       \
	do {                                                                                       \
		assert_int_equal((bytes)->size, strlen(text));                                     \
		if ((bytes)->size > 0)                                                             \
			assert_memory_equal((bytes)->data, (text), (bytes)->size);                 \
	} while (0)

static inline int temp_folder_setup(void **state)
{
	char *path = strdup("/tmp/hearth-test-XXXXXX");

	if (!path || !mkdtemp(path)) {
		free(path);
		return -1;
	}
	*state = path;
	return 0;
}

static inline int temp_folder_remove_entry(const char *path, const struct stat *status, int type,
					   struct FTW *where)
{
	(void)status;
	(void)type;
	(void)where;
	return remove(path);
}

static inline int temp_folder_teardown(void **state)
{
	char *path = *state;
	int r = nftw(path, temp_folder_remove_entry, 16, FTW_DEPTH | FTW_PHYS);

	free(path);
	return r;
}

/* A test whose state is the path of an empty folder. */
#define in_folder(test)                                                                            \
	cmocka_unit_test_setup_teardown(test, temp_folder_setup, temp_folder_teardown)

/* Returns @folder/@name, to be freed. */
static inline char *path_in(const char *folder, const char *name)
{
	char *path = NULL;

	if (asprintf(&path, "%s/%s", folder, name) < 0)
		return NULL;
	return path;
}

/* Writes a file with this content to @folder. Returns its path, to be freed. */
static inline char *write_file_in(const char *folder, const char *name, const void *data,
				  size_t size)
{
	char *path = path_in(folder, name);
	scoped_file FILE *file = path ? fopen(path, "we") : NULL;

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size, file), size);
	return path;
}
