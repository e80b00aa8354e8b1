/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples are usually on the same disk as debuginfo. Uploads therefore leave a part of it free,
 * which is checked before each piece is written, because other uploads and batches write meanwhile.
 */

#include <inttypes.h>
#include <sys/statvfs.h>

#include "symbolizer/debuginfo/debuginfo_private.h"

/* Free space that uploads leave to samples: a twentieth of the disk, at most some days' samples. */
#define FREE_SHARE     20
#define FREE_MAX_BYTES (4 * GIB)

uint64_t debuginfo_usable_bytes(uint64_t disk_bytes, uint64_t free_bytes)
{
	uint64_t kept = MIN(disk_bytes / FREE_SHARE, (uint64_t)FREE_MAX_BYTES);

	return free_bytes > kept ? free_bytes - kept : 0;
}

int debuginfo_check_room(struct debuginfo_store *store, uint64_t bytes,
			 char ret_message[DEBUGINFO_MESSAGE_SIZE])
{
	struct statvfs status;
	uint64_t usable;

	if (statvfs(store->folder, &status) < 0)
		return 0;
	usable = debuginfo_usable_bytes((uint64_t)status.f_blocks * status.f_frsize,
					(uint64_t)status.f_bavail * status.f_frsize);
	if (bytes <= usable)
		return 0;
	return debuginfo_fail(ret_message, -ENOSPC,
			      "no space: %" PRIu64
			      " MiB are needed, and the data folder has %" PRIu64
			      " MiB left for debuginfo, besides what is kept free for samples",
			      bytes / MIB, usable / MIB);
}
