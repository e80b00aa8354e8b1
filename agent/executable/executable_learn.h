/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Identification in steps, for a caller that has files looked at and read by other processes. Each step only looks at
 * the cache:
 *
 *   facts of the file (file_finder_look)    -> executable_cache_find_known()
 *   the file opened, its identity read      -> executable_cache_learn()
 *   no file to be found                     -> executable_cache_find_told()
 *
 * executable_cache_identify() takes all of them at once.
 */

#include "agent/executable/executable_file.h"
#include "agent/executable/file_finder.h"

/* All return 1: *ret_executable (borrowed); 0: it is not known. -ENOMEM. */

int executable_cache_find_known(struct executable_cache *cache, const struct mapped_file *file,
				const struct file_facts *facts, struct executable **ret_executable);
int executable_cache_find_told(struct executable_cache *cache, const struct mapped_file *file,
			       struct executable **ret_executable);

struct found_content {
	const struct mapped_file *file;
	const struct file_facts *facts;	     /* of the file as it was opened */
	const struct executable_id *text_id; /* NULL: not asked for yet; kind NONE: there is none */
};

/* Besides: -EAGAIN, the build-ID is another content's, and text_id is needed. The segments of @identity are taken. */
int executable_cache_learn(struct executable_cache *cache, const struct found_content *found,
			   struct file_identity *identity, struct executable **ret_executable);
