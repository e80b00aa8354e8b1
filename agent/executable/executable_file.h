/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finding and reading the file behind a mapping. Nothing here is kept: the cache decides what to
 * remember.
 *
 * Paths come from other mount namespaces and are chosen by whoever wrote them: they are resolved
 * inside the process's root (no symbolic link leads out of it), and only regular files are ever
 * opened for reading, so that no device or FIFO can do us harm.
 */

#include <sys/stat.h>

#include "agent/executable/executable.h"

/* What a file says of itself. */
struct file_identity {
	struct executable_id id;
	struct hash128 content;        /* executable_content.h */
	struct load_segment *segments; /* owned; at most MAX_LOAD_SEGMENTS */
	size_t n_segments;
};

/* /proc/PID/map_files/START-END: works for deleted files and memfds. The fd or negative errno. */
int open_mapped_file(uint32_t pid, uint64_t start, uint64_t end, struct stat *ret_status);

/* The program that the process runs, even if it was deleted. The fd or negative errno. */
int open_program_of(uint32_t pid, struct stat *ret_status);

/* @path as the process sees it. The fd or negative errno. */
int open_in_root_of(uint32_t pid, const char *path, struct stat *ret_status);

/* @path as we see it. The fd or negative errno. */
int open_on_host(const char *path, struct stat *ret_status);

/* What is mapped there, without opening it. 0 or negative errno. */
int stat_mapped_file(uint32_t pid, uint64_t start, uint64_t end, struct stat *ret_status);

/* Of the inode; 0 where the file system does not say. */
uint64_t file_generation(int fd);

/* 1 identified, 0 the file is no executable that we understand, negative errno only when memory is
 * short. */
int file_identity_read(int fd, struct file_identity *ret_identity);
void file_identity_release(struct file_identity *identity);

/* The hash of its code, for a file whose build-ID is another content's. As file_identity_read(). */
int file_text_identity_read(int fd, struct executable_id *ret_id);

/*
 * Whether only root can change the file. What a file system in user space says of owners is what
 * its author makes it say.
 */
bool file_is_trusted(int fd, const struct stat *status);

/*
 * Whether inotify reports every change of the file, and calls that concern it never wait for
 * another machine or process: it is in one of the local file systems that are known to be so.
 */
bool file_is_watchable(int fd);

/*
 * The vDSO in the memory of @pid (0: our own) at [start, end), as a file in memory. The fd, or
 * negative errno when the process is gone.
 */
int open_vdso(uint32_t pid, uint64_t start, uint64_t end);
