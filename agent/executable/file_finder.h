/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds and opens the file behind a mapping of another process. If the file system does not answer
 * (NFS, FUSE), these functions do not return; therefore the agent calls them in a helper process
 * (agent/helper/finder_process.h). They keep no state and read no file content.
 */

#include <sys/stat.h>

#include "agent/executable/executable.h"

/* No padding: it is a hash key. */
struct file_key {
	uint64_t device, inode;
	int64_t mtime_s, mtime_ns;
	int64_t size;
};

struct file_facts {
	struct file_key key;
	uint64_t generation; /* of the inode; 0: not known */
	bool is_certain;     /* the mapped file itself, not only a file with the same path */
	bool is_trusted;     /* only root can write it; false before it is opened */
	/* its file system is local and reports all changes; false before it is opened */
	bool is_watchable;
};

struct file_key file_key_of(const struct stat *status);

/* Wall-clock time of the last change of the inode, in the resolution of the kernel's tick. */
uint64_t file_changed_ns(const struct stat *status);

/* False for memory without a file: "//anon", "[heap]", "anon_inode:...". */
bool mapped_file_has_path(const struct mapped_file *file);

/* Length of @path without the suffix " (deleted)", which the kernel appends for deleted files. */
size_t mapped_path_length(const char *path, bool *ret_deleted);

/* Whether the kernel reported the file by an event. Otherwise the mapping was read from /proc. */
bool reported_file_is_set(const struct reported_file *reported);

/*
 * Whether the report identifies the file among all others. Overlay file systems report neither a
 * device nor a generation, and they reuse inodes. A file system on a disk may have inodes of
 * generation 0, but it does not give generation 0 to the same inode twice.
 */
bool reported_file_is_unique(const struct reported_file *reported);

/*
 * Looks at the file without opening it. 1: *ret_facts; 0: the file no longer exists, or is not
 * certain to be the mapped one.
 */
int file_finder_look(const struct mapped_file *file, struct file_facts *ret_facts);

/*
 * Opens the file that is mapped at @file->start, or else the file at its path if it agrees with the
 * kernel's report. Returns the fd or -ENOENT.
 */
int file_finder_open(const struct mapped_file *file, struct file_facts *ret_facts);

/* Where an executable was last mapped, to open its file again. */
struct executable_source {
	enum executable_role role;
	uint32_t pid;
	uint64_t start, end;
	const char *path; /* NULL: none */
};

/* The path is borrowed from @executable. */
struct executable_source executable_source_of(const struct executable *executable);

/* Number of ways to open a source. Different ways may open different files. */
#define EXECUTABLE_SOURCE_WAYS 3

/*
 * Opens the source in way @way, from 0 to EXECUTABLE_SOURCE_WAYS - 1. Returns the fd or negative
 * errno. The caller must check the content of the file before it takes it for the executable.
 */
int file_finder_open_source(const struct executable_source *source, unsigned int way);
