/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Limits of requests with profiles of other profilers. A profile becomes one batch, so the limits
 * of batches (common/limits.h) hold for it too.
 */

#include "common/limits.h"

/* Body of a request. Pushed profiles have 10 to 500 KB; a profile in a file may have some MB. */
#define IMPORT_MAX_BODY_BYTES (32 * MIB)

/* A profile after gzip. A body of 32 MiB of zeros would expand to 32 GiB. */
#define IMPORT_MAX_PLAIN_BYTES (64 * MIB)

/* Memory for all objects of one request. */
#define IMPORT_MAX_DECODED_BYTES BATCH_MAX_DECODED_BYTES

/* Rows of one batch, before equal ones are added up. */
#define IMPORT_MAX_ROWS (1u << 20)

/* Frames of all stacks of one batch. */
#define IMPORT_MAX_FRAMES (4u << 20)

/* Different functions and files in one batch. */
#define IMPORT_MAX_OBJECTS (1u << 17)

/* Different sets of labels of samples in one batch. Labels with many values make a profile slow. */
#define IMPORT_MAX_SERIES (1u << 14)

/* Profiles, each of another process, in one request. */
#define IMPORT_MAX_PROFILES 256

/* Profiles in one request of OTLP, which has one for each process of a host. */
#define IMPORT_MAX_OTLP_PROFILES (1u << 14)

/* Time that one profile covers. */
#define IMPORT_MAX_DURATION_NS (24 * 3600 * NSEC_PER_SEC)

/* The end of a profile: in August 2089. Its hour is a part of an epoch, which has 63 bits. */
#define IMPORT_MAX_TIME_NS ((UINT64_C(3600) << 20) * NSEC_PER_SEC)

/* Parts into which a value is divided over the time of its profile. */
#define IMPORT_MAX_PARTS 60

/* Largest value of a sample: that of a row of a batch. */
#define IMPORT_MAX_VALUE (UINT64_C(1) << 53)
