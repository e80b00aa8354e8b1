/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The files of the web page, which are embedded in the binary. They are read-only and valid as long
 * as the process; any thread may use them.
 */

#include "common/base.h"

struct ui_asset {
	const char *path;         /* as in the URL: "/app.js" */
	const char *content_type; /* with charset */
	const char *etag;         /* in quotes; changes with the content */
	const uint8_t *gzip;      /* for clients that accept gzip */
	size_t gzip_size;
	const uint8_t *plain;
	size_t plain_size;
};

/* Finds a file by its path; "/" is "/index.html". Returns NULL if there is none. */
const struct ui_asset *ui_asset_find(const char *path);
