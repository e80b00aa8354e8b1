/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "common/arena.h"
#include "common/bytes.h"
#include "symbolizer/store/batch.h"

#define DECODE_MESSAGE_SIZE 256

/*
 * One zstd frame of a hearth.v1.Batch -> a checked struct batch in @arena. A pure function of the
 * bytes. 0; -EBADMSG with a message that says what is wrong and where (field and index); -EFBIG
 * beyond the limits of common/limits.h; -ENOMEM.
 */
int batch_decode(struct bytes_view body, struct arena *arena, struct batch *ret_batch,
		 char ret_message[DECODE_MESSAGE_SIZE]);

/* The same for the message itself, without zstd around it. */
int batch_decode_plain(struct bytes_view message, struct arena *arena, struct batch *ret_batch,
		       char ret_message[DECODE_MESSAGE_SIZE]);
