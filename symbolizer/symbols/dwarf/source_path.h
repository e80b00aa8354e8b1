/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Paths of source files, put together from the folders that DWARF gives. "." and empty components
 * go, ".." takes the one before away: build systems write one file in many ways, and a debuginfod
 * server is asked for the shortest.
 */

#include "common/bytes.h"

/* Appends @text to the path in @out, or begins one there. 0, -ENOMEM, -EFBIG. */
int source_path_append(struct bytes *out, const char *text);
