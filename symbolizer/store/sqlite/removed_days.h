/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The first day that retention by size has kept, in the file REMOVED_DAYS_FILE of the data folder.
 * Without it, a batch that an agent kept for days would create the file of a removed day again.
 */

#include "symbolizer/store/sqlite/schema.h"

#define REMOVED_DAYS_FILE "retention-size"

/* 0: no file, or an unusable one. */
day_number removed_days_load(const char *folder);

/* An error is ignored: on a full disk, the next start does not know the day. */
void removed_days_save(const char *folder, day_number first_day);
