/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "common/clock.h"
#include "symbolizer/store/store.h"

/*
 * The embedded engine. In @folder: hearth.db for what lasts, samples-YYYY-MM-DD.db (UTC) per day. WAL,
 * synchronous=FULL. The folder is locked: -EBUSY when another server has it open.
 */
int sqlite_store_open(const char *folder, const struct clock *clock, struct store **ret_store);
