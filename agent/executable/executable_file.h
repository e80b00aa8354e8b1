/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds and reads the file behind a mapping. These functions keep no state: the cache decides what
 * to remember.
 *
 * Paths belong to other mount namespaces, and an attacker may have chosen them. They are resolved
 * inside the root of the process, so no symbolic link leads out of it. Only regular files are
 * opened for reading, because opening a device or a FIFO has side effects.
 */

#include <sys/stat.h>

#include "agent/executable/executable.h"

/* The identity of a file, computed from its bytes. */
struct file_identity {
	struct executable_id id;
	struct hash128 content;        /* executable_content.h */
	struct load_segment *segments; /* owned; at most MAX_LOAD_SEGMENTS */
	size_t n_segments;
	struct interpreter_facts interpreter; /* filled by a parser only */
};

/* False: the segment ends beyond the address space, so it cannot be mapped. */
bool load_segment_is_valid(const struct load_segment *segment);

/* The following functions open a regular file for reading. They return the fd or negative errno. */

/* Opens the file mapped at [start, end), even if it was deleted or is a memfd. */
int open_mapped_file(uint32_t pid, uint64_t start, uint64_t end, struct stat *ret_status);

/* Opens the program that the process runs, even if it was deleted. */
int open_program_of(uint32_t pid, struct stat *ret_status);

/* Opens @path in the root of the process. */
int open_in_root_of(uint32_t pid, const char *path, struct stat *ret_status);

/* The same, unless @path is a symbolic link. */
int open_plain_in_root_of(uint32_t pid, const char *path, struct stat *ret_status);

/* Opens @path in the agent's own mount namespace. */
int open_on_host(const char *path, struct stat *ret_status);

/* Gets the status of the file mapped at [start, end) without opening it. 0 or negative errno. */
int stat_mapped_file(uint32_t pid, uint64_t start, uint64_t end, struct stat *ret_status);

/* Generation number of the inode; 0: the file system has none. */
uint64_t file_generation(int fd);

/* 1: identified; 0: not an executable that is supported; negative errno only if memory is short. */
int file_identity_read(int fd, struct file_identity *ret_identity);
void file_identity_release(struct file_identity *identity);

/*
 * Hashes the code, for a file that has the build-ID of another content. Returns as
 * file_identity_read() does.
 */
int file_text_identity_read(int fd, struct executable_id *ret_id);

/*
 * Whether only root can change the file. False for FUSE, because the author of the file system
 * decides which owners it reports.
 */
bool file_is_trusted(int fd, const struct stat *status);

/*
 * Whether inotify reports every change of the file, and system calls on it never wait for another
 * machine or process. True for a list of local file systems.
 */
bool file_is_watchable(int fd);

/*
 * Copies the vDSO at [start, end) in the memory of @pid (0: the agent) into a memfd. Returns the
 * fd, or negative errno if the process has ended.
 */
int open_vdso(uint32_t pid, uint64_t start, uint64_t end);
