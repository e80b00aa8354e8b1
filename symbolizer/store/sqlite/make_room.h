/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Retention before the store is opened, so that a server starts on a full disk. */

#include "common/clock.h"

struct retention_limits {
	uint64_t age_ns;    /* 0: no limit */
	uint64_t max_bytes; /* of hearth.db and all day files; 0: no limit */
};

/*
 * Removes the files of days beyond the limits. If the disk is still full then, it removes the
 * ballast, because opening a database creates files. Does nothing if the folder does not exist, or
 * another server has it open. A failure is logged: opening the store reports it better.
 */
void sqlite_store_make_room(const char *folder, const struct clock *clock,
			    const struct retention_limits *limits);
