/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Limits on which the agent and the symbolizer must agree, with their reasons.
 */

#include "common/base.h"

/* Length of a time slot, the finest resolution of stored samples. */
#define SLOT_NS (10 * NSEC_PER_MSEC)

/*
 * Maximum size of a compressed batch. The samples of 256 CPUs at 99 Hz during 5 s take less than
 * 4 MiB, even if all stacks differ.
 */
#define BATCH_MAX_COMPRESSED_BYTES (8 * MIB)

/*
 * Maximum size of a decompressed batch. Without it, a hostile batch of 8 MiB could make the server
 * allocate gigabytes.
 */
#define BATCH_MAX_BYTES (64 * MIB)

/* Maximum memory for all objects that the server decodes from one batch. */
#define BATCH_MAX_DECODED_BYTES (256 * MIB)

/* Maximum number of rows in a batch. In practice fewer rows fit into BATCH_MAX_BYTES. */
#define BATCH_MAX_ROWS (8u << 20)

/* Maximum length of a text in a batch (path, name, label value). PATH_MAX is 4096. */
#define BATCH_MAX_TEXT_BYTES 4096

/* Maximum number of labels of one process. */
#define MAX_LABELS_PER_PROCESS 64

/* Maximum number of labels of one series (device, stream, allocator). */
#define MAX_LABELS_PER_SERIES 8

/* Maximum number of event types that one batch describes. Today there are nine. */
#define MAX_EVENT_TYPES 256

/* Maximum length of the name and the unit of an event type. */
#define MAX_EVENT_TEXT_BYTES 64

/*
 * Maximum size of the line table of a code object. CPython's take two bytes for a line of source;
 * larger ones belong to generated functions, which are shown with their first line.
 */
#define MAX_LINE_TABLE_BYTES (64 * KIB)

/* Maximum number of load segments per executable. Large Go and Chrome binaries have 4 to 8. */
#define MAX_LOAD_SEGMENTS 32

#define DEFAULT_PORT        20416
#define DEFAULT_DATA_FOLDER "/var/lib/hearth"
