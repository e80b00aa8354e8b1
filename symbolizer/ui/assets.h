/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The web page's files, part of the binary: read-only, valid for the life of the process, for any
 * thread.
 */

#include "common/base.h"

struct ui_asset {
	const char *path;         /* as in the URL: "/app.js" */
	const char *content_type; /* with charset */
	const char *etag;         /* in quotes, as the header wants it; changes with the content */
	const uint8_t *gzip;      /* for clients that accept gzip */
	size_t gzip_size;
	const uint8_t *plain;
	size_t plain_size;
};

/* "/" and "/index.html" are the page. NULL when there is no such file. */
const struct ui_asset *ui_asset_find(const char *path);
