/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Code of a file that its process copied into anonymous memory at the same addresses. Some programs
 * do that to have their code in huge pages (mmap or mremap over the file's mapping, with the bytes
 * copied): the kernel then reports memory without a file. What was mapped there a moment ago, or
 * what is mapped on both sides, says which file it may be. Whether the memory holds the file's
 * bytes is checked when the file is looked up (agent/executable/memory_copy.h).
 */

#include "agent/process/process_image.h"

/*
 * @mapping is anonymous. If all of it lies in code of one file, as far as @mappings say, it gets
 * the file's path, offset and what was told of the file, and is a copy from here on. @mappings may
 * be NULL.
 */
void copied_code_find(const struct process_image_context *context,
		      const struct process_mappings *mappings, struct process_mapping *mapping);

/*
 * The same for all anonymous mappings of @mappings, which were just read: by @before, which may be
 * NULL, and where that has nothing, by the neighbours on both sides, if they are of one file and
 * the file's bytes between them fit exactly.
 */
void copied_code_find_all(const struct process_image_context *context,
			  struct process_mappings *mappings, const struct process_mappings *before);
