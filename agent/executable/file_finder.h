/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds and opens the file behind a mapping of another process. If its file system does not answer
 * (NFS, FUSE) these functions do not return, so the agent calls them in a helper process
 * (agent/helper/finder_process.h). They keep no state and read no file.
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

/* False for memory without a file: "//anon", "[heap]", "anon_inode:...". */
bool mapped_file_has_path(const struct mapped_file *file);

/* Length of @path without the suffix " (deleted)", which the kernel appends for deleted files. */
size_t mapped_path_length(const char *path, bool *ret_deleted);

/* Whether the kernel reported the file by an event. Otherwise the mapping was read from /proc. */
bool told_file_is_told(const struct told_file *told);

/* Looks at the file without opening it. 1: *ret_facts; 0: it is gone, or not certain to be the mapped file. */
int file_finder_look(const struct mapped_file *file, struct file_facts *ret_facts);

/*
 * Opens the file that is mapped there, else the file with its path, if it agrees with what the
 * kernel reported. Returns the fd, or -ENOENT.
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

/* Number of ways to open a source. Each may find a different file. */
#define EXECUTABLE_SOURCE_WAYS 3

/*
 * Opens the source in way @way, from 0 to EXECUTABLE_SOURCE_WAYS - 1. The fd or negative errno. The
 * caller has to check by the file's content that it is the executable.
 */
int file_finder_open_source(const struct executable_source *source, unsigned int way);
