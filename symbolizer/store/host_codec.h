/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The bytes of a host's attributes and of labels: texts as a varint length and bytes, numbers as
 * varints. Pure functions.
 */

#include "common/arena.h"
#include "common/bytes.h"
#include "symbolizer/store/batch.h"

/* These append to @out, which keeps the error. */
void text_encode(const char *text, struct bytes *out);
void labels_encode(const struct label *labels, uint32_t count, struct bytes *out);
void host_encode(const struct batch_host *host, struct bytes *out);

/* The results are in @arena. 0, -EBADMSG, -ENOMEM. */
int labels_decode(struct bytes_reader *in, struct arena *arena, struct label **ret_labels,
		  uint32_t *ret_count);
int host_decode(struct bytes_view in, struct arena *arena, struct batch_host *ret_host);
