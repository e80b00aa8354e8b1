/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The bytes of a host's attributes: texts as a varint length and bytes, numbers as varints. Pure
 * functions.
 */

#include "common/arena.h"
#include "common/bytes.h"
#include "symbolizer/store/batch.h"

/* Appends to @out, which keeps the error. */
void host_encode(const struct batch_host *host, struct bytes *out);

/* The result is in @arena. 0, -EBADMSG, -ENOMEM. */
int host_decode(struct bytes_view in, struct arena *arena, struct batch_host *ret_host);
