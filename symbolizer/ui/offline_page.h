/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The web page as one file that needs no server: head, the data as JSON, tail. The JSON has the
 * members of GET /v1/flame with columns, and "service" and "filter"; its "stats" have the names of
 * the headers X-Hearth-* (offline_api.js). It must not contain '<'.
 */

#include "common/bytes.h"

struct offline_page {
	struct bytes_view head;
	struct bytes_view tail;
};

/* The parts are read-only and valid as long as the process. */
struct offline_page offline_page_get(void);
