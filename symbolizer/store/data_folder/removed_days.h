/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The first day that retention by size has kept, in the file REMOVED_DAYS_FILE of the data folder.
 * Days are those since 1970-01-01. Without it, a batch that an agent kept for days would create the
 * file of a removed day again.
 */

#include <stdint.h>

#define REMOVED_DAYS_FILE "retention-size"

/* 0: no file, or an unusable one. */
uint32_t removed_days_load(const char *folder);

/* An error is ignored: on a full disk, the next start does not know the day. */
void removed_days_save(const char *folder, uint32_t first_day);
