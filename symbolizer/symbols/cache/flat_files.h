/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The folder of symbol tables in the form that queries map (symbol_file.h): one file per table,
 * named by the hash of its stored form. Nothing is lost with any of them: they are made from the
 * stored form, written under another name and renamed when they are whole, and made anew when they
 * are damaged. Thread-safe.
 *
 * Who opens or writes a file accounts for it from then on, and removes it. Files of earlier runs
 * that nobody has opened yet are this module's.
 */

#include "common/hash.h"
#include "common/scoped.h"

struct flat_files;

/* Makes the folder if it is not there, and removes what a crash left half-written. */
int flat_files_open(const char *folder, struct flat_files **ret_files);
struct flat_files *flat_files_free(struct flat_files *files);

/* 1 found, 0 there is none. Open for reading. */
int flat_files_take(struct flat_files *files, const struct hash128 *name, int *ret_fd);

/* Replaces the file; it is open for reading afterwards. -ENOSPC and the like leave nothing behind.
 */
int flat_files_write(struct flat_files *files, const struct hash128 *name, struct bytes_view flat,
		     int *ret_fd);

void flat_files_remove(struct flat_files *files, const struct hash128 *name);

/* Of the files that nobody has opened yet. */
uint64_t flat_files_left_bytes(struct flat_files *files);

/* Removes the one of them that was used least recently. 1 removed, 0 none is left. */
int flat_files_remove_left(struct flat_files *files);

DEFINE_SCOPED(struct flat_files *, flat_files_free);
