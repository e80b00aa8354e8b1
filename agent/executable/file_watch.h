/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which files have not changed since they were identified. A file that is mapped again, by a
 * process that has just started as a rule, is then known by the kernel's report of the mapping
 * alone: nobody has to look at the file again.
 *
 * Each file is watched by inotify. A change of its content or attributes, its removal and the
 * unmounting of its file system end the watch; the file has to be looked at and identified again. A
 * program that changes a file through a shared mapping is noticed when it closes the file. Only
 * files of local file systems are watched, which report every change and where no call waits for
 * another machine or process.
 *
 * A watch prevents neither the removal of a file nor unmounting. It pins the inode, about 1 KiB of
 * kernel memory. Used by the agent's main thread.
 */

#include "agent/executable/file_finder.h"

struct file_watch;

/*
 * @max_files: most files that are watched; the one that was mapped longest ago makes room. 0 or
 * negative errno.
 */
int file_watch_new(size_t max_files, struct file_watch **ret_watch);
struct file_watch *file_watch_free(struct file_watch *watch);

/*
 * Whether file_watch_add() may be of use: the file is not watched, and was not found to be
 * unsuitable.
 */
bool file_watch_lacks(struct file_watch *watch, const struct told_file *told);

/*
 * Begins to watch the file @fd, which was found to be @told, with these @facts. Returns a ticket
 * for file_watch_learned(), or 0: the file is not watched, because it changed a moment ago or
 * cannot be watched.
 */
uint64_t file_watch_add(struct file_watch *watch, const struct told_file *told, int fd,
			const struct file_facts *facts);

/*
 * The file was identified after the watch with this ticket began. Nothing happens if the file has
 * changed since.
 */
void file_watch_learned(struct file_watch *watch, const struct told_file *told, uint64_t ticket,
			uint32_t executable);

struct watched_file {
	uint32_t executable; /* number */
	bool is_trusted;     /* only root can write the file */
};

/*
 * Whether the file had not changed between its identification and the time it was mapped,
 * @told->mapped_ns.
 */
bool file_watch_find(struct file_watch *watch, const struct told_file *told,
		     struct watched_file *ret_file);

/* Files that are watched. */
size_t file_watch_count(const struct file_watch *watch);

DEFINE_SCOPED(struct file_watch *, file_watch_free);
