/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The thread that uploads debuginfo, one file after the other at a bounded rate, so that batches
 * never wait for it.
 */

#include "agent/upload/sender.h"

struct uploader;

int uploader_new(const struct sender_options *options, struct uploader **ret_uploader);

/* Gives up the upload in progress and those that wait. */
struct uploader *uploader_free(struct uploader *uploader);

/* As sender_upload_take(). */
int uploader_take(struct uploader *uploader, const struct sender_upload *order);

/* Fills the uploads_... fields only. */
/* Whether uploader_take() would find a place. */
bool uploader_has_room(struct uploader *uploader);

void uploader_stats(struct uploader *uploader, struct sender_stats *stats);

#include "common/scoped.h"
DEFINE_SCOPED(struct uploader *, uploader_free);
