/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Keeps track of which files have not changed since they were identified. When such a file is
 * mapped again (usually by a process that has just started), the kernel's report of the mapping
 * identifies it, and no process has to look at the file.
 *
 * Each file is watched by inotify. The watch ends when the content or the attributes of the file
 * change, when the file is removed, and when its file system is unmounted; then the file has to be
 * identified again. A change through a shared mapping is noticed when the program closes the file.
 * Only files of local file systems are watched: those report every change, and no call on them
 * waits for another machine or process.
 *
 * A watch prevents neither the removal of a file nor unmounting. It pins the inode, about 1 KiB of
 * kernel memory. Used by the agent's main thread.
 */

#include "agent/executable/file_finder.h"

struct file_watch;

/*
 * @max_files: maximum number of watched files. When it is reached, the file that was mapped longest
 * ago is evicted. 0 or negative errno.
 */
int file_watch_new(size_t max_files, struct file_watch **ret_watch);
struct file_watch *file_watch_free(struct file_watch *watch);

/*
 * Whether file_watch_add() may help: the file is neither watched nor known to be unsuitable.
 */
bool file_watch_lacks(struct file_watch *watch, const struct reported_file *reported);

/*
 * Begins to watch the file @fd, which is the @reported file and has these @facts. Returns a ticket
 * for file_watch_learned(), or 0: the file is not watched, because it changed a moment ago or
 * cannot be watched.
 */
uint64_t file_watch_add(struct file_watch *watch, const struct reported_file *reported, int fd,
			const struct file_facts *facts);

/*
 * Records that the file was identified as @executable after the watch with this ticket began. Does
 * nothing if the file has changed since.
 */
void file_watch_learned(struct file_watch *watch, const struct reported_file *reported,
			uint64_t ticket, uint32_t executable);

struct watched_file {
	uint32_t executable; /* number */
	bool is_trusted;     /* only root can write the file */
};

/*
 * Returns whether the file did not change between its identification and @reported->mapped_ns, the
 * time when it was mapped.
 */
bool file_watch_find(struct file_watch *watch, const struct reported_file *reported,
		     struct watched_file *ret_file);

/* Number of watched files. */
size_t file_watch_count(const struct file_watch *watch);

DEFINE_SCOPED(struct file_watch *, file_watch_free);
