/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Identification in steps, for a caller that lets other processes find and read the files. These
 * functions use only the cache:
 *
 *   after file_finder_look()                    executable_cache_find_known()
 *   after the file's identity was read          executable_cache_learn()
 *   if no file was found                        executable_cache_find_reported()
 *
 * executable_cache_identify() takes all steps in the calling process.
 */

#include "agent/executable/executable_file.h"
#include "agent/executable/file_finder.h"
#include "agent/executable/file_watch.h"

/* All return 1: *ret_executable (borrowed); 0: the executable is not known; or -ENOMEM. */

int executable_cache_find_known(struct executable_cache *cache, const struct mapped_file *file,
				const struct file_facts *facts, struct executable **ret_executable);
int executable_cache_find_reported(struct executable_cache *cache, const struct mapped_file *file,
				   struct executable **ret_executable);

/*
 * For a file that has not changed since it was identified (file_watch.h): the executable with the
 * number in @watched.
 */
int executable_cache_find_unchanged(struct executable_cache *cache, const struct mapped_file *file,
				    const struct watched_file *watched,
				    struct executable **ret_executable);

struct found_content {
	const struct mapped_file *file;
	const struct file_facts *facts; /* from when the file was opened */
	/* hash of the code; NULL: not computed yet; kind NONE: unreadable */
	const struct executable_id *text_id;
};

/*
 * Finds or adds the executable with this content. Also returns -EAGAIN: a file with different
 * content has the same build-ID, and text_id is needed. Takes the segments of @identity.
 */
int executable_cache_learn(struct executable_cache *cache, const struct found_content *found,
			   struct file_identity *identity, struct executable **ret_executable);
