/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Detects code of a file that its process copied into anonymous memory at the same addresses. Some
 * programs do that to have their code in huge pages: they map memory over the file's mapping with
 * mmap or mremap and copy the bytes. The kernel then reports memory without a file. The file may be
 * the one that was mapped there before, or that is mapped on both sides. Whether the memory has the
 * bytes of the file is checked when the file is looked up (agent/executable/memory_copy.h).
 */

#include "agent/process/process_image.h"

/*
 * If all addresses of the anonymous @mapping are in mappings of one file in @mappings, marks it as
 * a copy, with the path, offset and inode of that file. @mappings may be NULL.
 */
void copied_code_find(const struct process_image_context *context,
		      const struct process_mappings *mappings, struct process_mapping *mapping);

/*
 * Does the same for all anonymous mappings of @mappings, which were just read from /proc. Looks in
 * @before, which may be NULL, and otherwise at the neighbours on both sides: both must be mappings
 * of one file, and the gap between them in the file must have the size of the mapping.
 */
void copied_code_find_all(const struct process_image_context *context,
			  struct process_mappings *mappings, const struct process_mappings *before);
