/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The folder of symbol tables in their flat form (symbol_file.h), which queries map: one file per
 * table, named by the hash of its stored form. A file is written under a temporary name and renamed
 * when it is complete. A file that is lost or damaged is made again from the stored form.
 * Thread-safe.
 *
 * The caller that opens or writes a file counts its bytes from then on, and removes it. This module
 * counts and removes the files of earlier runs that have not been opened yet ("left" files).
 */

#include "common/hash.h"
#include "common/scoped.h"

struct flat_files;

/* Makes the folder if it is missing, and removes incomplete files of an earlier run. */
int flat_files_open(const char *folder, struct flat_files **ret_files);
struct flat_files *flat_files_free(struct flat_files *files);

/* Opens a file for reading. Returns 1, or 0 if there is none. */
int flat_files_take(struct flat_files *files, const struct hash128 *name, int *ret_fd);

/* Writes or replaces a file and opens it for reading. An error such as -ENOSPC leaves no file. */
int flat_files_write(struct flat_files *files, const struct hash128 *name, struct bytes_view flat,
		     int *ret_fd);

void flat_files_remove(struct flat_files *files, const struct hash128 *name);

/* Returns the size of all left files. */
uint64_t flat_files_left_bytes(struct flat_files *files);

/* Removes the least recently used left file. Returns 1, or 0 if there is none. */
int flat_files_remove_left(struct flat_files *files);

DEFINE_SCOPED(struct flat_files *, flat_files_free);
