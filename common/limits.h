/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Limits that both programs must agree on. Each is named once, with its reason.
 */

#include "common/base.h"

/* One time slot of the finest resolution kept. */
#define SLOT_NS (10 * NSEC_PER_MSEC)

/*
 * A batch on the wire, compressed. 5 s of a 256-CPU host at 99 Hz with every stack new is below 4
 * MiB.
 */
#define BATCH_MAX_COMPRESSED_BYTES (8 * MIB)

/* The same after decompression: what a hostile 8 MiB may make us allocate. */
#define BATCH_MAX_BYTES (64 * MIB)

/* Everything decoded from one batch. */
#define BATCH_MAX_DECODED_BYTES (256 * MIB)

/* Rows in one batch; above what BATCH_MAX_BYTES can hold of real ones. */
#define BATCH_MAX_ROWS (8u << 20)

/* One text on the wire (path, name, label value). PATH_MAX is 4096. */
#define BATCH_MAX_TEXT_BYTES 4096

/* Labels of one process. */
#define MAX_LABELS_PER_PROCESS 64

/* PT_LOAD entries of one executable that are kept. Large Go and Chrome binaries have 4 to 8. */
#define MAX_LOAD_SEGMENTS 32

#define DEFAULT_PORT        20416
#define DEFAULT_DATA_FOLDER "/var/lib/hearth"
