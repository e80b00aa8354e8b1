/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The thread that uploads debuginfo, one file after the other at a limited rate, so that batches do
 * not wait for uploads.
 */

#include "agent/upload/sender.h"

struct uploader;

int uploader_new(const struct sender_options *options, struct uploader **ret_uploader);

/* Cancels the upload in progress and drops waiting ones. */
struct uploader *uploader_free(struct uploader *uploader);

/* Like sender_upload_take(). */
int uploader_take(struct uploader *uploader, const struct sender_upload *request);

/* Whether uploader_take() would accept an upload now. */
bool uploader_has_room(struct uploader *uploader);

/* Sets only the fields uploads_done, uploads_failed and upload_bytes. */
void uploader_stats(struct uploader *uploader, struct sender_stats *stats);

#include "common/scoped.h"
DEFINE_SCOPED(struct uploader *, uploader_free);
