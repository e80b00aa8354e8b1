/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Limits on which the agent and the symbolizer must agree, with their reasons.
 */

#include "common/base.h"

/* Length of a time slot, the finest resolution of stored samples. */
#define SLOT_NS (10 * NSEC_PER_MSEC)

/*
 * A compressed batch. 5 s of a 256-CPU host at 99 Hz, with no stack twice, take less than 4 MiB.
 */
#define BATCH_MAX_COMPRESSED_BYTES (8 * MIB)

/* A decompressed batch. Bounds what a hostile batch of 8 MiB can make the server allocate. */
#define BATCH_MAX_BYTES (64 * MIB)

/* Memory for all objects decoded from one batch. */
#define BATCH_MAX_DECODED_BYTES (256 * MIB)

/* Rows of one batch. More than BATCH_MAX_BYTES can hold in practice. */
#define BATCH_MAX_ROWS (8u << 20)

/* One text of a batch (path, name, label value). PATH_MAX is 4096. */
#define BATCH_MAX_TEXT_BYTES 4096

/* Labels of one process. */
#define MAX_LABELS_PER_PROCESS 64

/* Load segments kept per executable. Large Go and Chrome binaries have 4 to 8. */
#define MAX_LOAD_SEGMENTS 32

#define DEFAULT_PORT        20416
#define DEFAULT_DATA_FOLDER "/var/lib/hearth"
