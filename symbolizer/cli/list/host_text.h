/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The table of `hearth hosts`. */

#include <jansson.h>

#include "common/bytes.h"

/*
 * Appends @rows of /v1/hosts in @width columns: long names of hosts and kernels lose their middle.
 * Below a host stands what its agent had to give up and what its kernel lacks.
 */
void host_text_write(const json_t *rows, uint64_t now_s, int width, struct bytes *out);
