/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds the file behind a mapping, and opens it. Looks at files of other processes only: a file system that does not
 * answer (NFS, FUSE) keeps these functions from returning, so the agent calls them in a process of their own
 * (agent/helper/finder_process.h). Nothing is remembered here, and no file is read.
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
	uint64_t generation; /* of the inode; 0 not known */
	bool is_certain;     /* the mapped file itself, not just one of the same name */
	bool is_trusted;     /* only root can write it; known once it was opened */
};

/* Memory without a file: "//anon", "[heap]", "anon_inode:...". */
bool mapped_file_has_path(const struct mapped_file *file);

/* Length of @path without what the kernel appends to the names of deleted files. */
size_t mapped_path_length(const char *path, bool *ret_deleted);

/* By an event, not by /proc. */
bool told_file_is_told(const struct told_file *told);

/* The state of the file without opening it. 1; 0: it is not there any more, or not certainly it. */
int file_finder_look(const struct mapped_file *file, struct file_facts *ret_facts);

/*
 * Opens what is mapped there; else what has the name and is what was told. The fd, or -ENOENT: no file that is
 * certainly it.
 */
int file_finder_open(const struct mapped_file *file, struct file_facts *ret_facts);

/* Where an executable was last seen: to be opened again. */
struct executable_source {
	enum executable_role role;
	uint32_t pid;
	uint64_t start, end;
	const char *path; /* NULL: none */
};

/* The path is borrowed from @executable. */
struct executable_source executable_source_of(const struct executable *executable);

/* Ways to open a source: each may give another file. */
#define EXECUTABLE_SOURCE_WAYS 3

/* The fd, or negative errno: by this way there is none. Whether it is the executable shows its content. */
int file_finder_open_source(const struct executable_source *source, unsigned int way);
