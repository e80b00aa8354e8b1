/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The table of `hearth hosts`. */

#include <jansson.h>

#include "common/bytes.h"

/*
 * Appends a table of @rows of /v1/hosts. To fit @width columns, it shortens long names of hosts and
 * kernels in their middle. Lines below a host list what its agent gave up to keep its budget and
 * what its kernel lacks.
 */
void host_text_write(const json_t *rows, uint64_t now_s, int width, struct bytes *out);
