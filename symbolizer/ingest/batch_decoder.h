/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Decodes and checks the batches of agents. Pure functions of the bytes.
 */

#include "common/arena.h"
#include "common/bytes.h"
#include "symbolizer/store/batch.h"

#define DECODE_MESSAGE_SIZE 256

/*
 * Decodes one zstd frame of a hearth.v1.Batch into a checked struct batch in @arena. The batch
 * keeps a pointer to @body. Returns 0;
 * -EBADMSG with a message that names the wrong field and its index; -EFBIG: the batch exceeds a
 * limit of common/limits.h; -EPROTONOSUPPORT: it has a later format; -ENOMEM.
 */
int batch_decode(struct bytes_view body, struct arena *arena, struct batch *ret_batch,
		 char ret_message[DECODE_MESSAGE_SIZE]);

/* Does the same for an uncompressed message. */
int batch_decode_plain(struct bytes_view message, struct arena *arena, struct batch *ret_batch,
		       char ret_message[DECODE_MESSAGE_SIZE]);
