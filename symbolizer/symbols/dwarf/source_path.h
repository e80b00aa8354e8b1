/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Joins the folders and file names of DWARF to the path of a source file. "." and empty components
 * are removed, and ".." removes the component before it: build systems write the path of one file
 * in many ways, and debuginfod servers are queried by the normalized path.
 */

#include "common/bytes.h"

/*
 * Appends the components of @text to the path in @out, which may be empty. Returns 0, -ENOMEM,
 * -EFBIG.
 */
int source_path_append(struct bytes *out, const char *text);
