/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Executables: the files behind mappings, each identified once per host and numbered for the wire.
 *
 * The cache finds an executable by (device, inode, mtime, size), or by what the kernel told of its
 * file when it was mapped, so that a file is opened once, not once per process. Numbers are dense
 * from 1 within this run and never reused; number 1 is the kernel image. Entries are kept while
 * mapped by a live process (executable_ref/unref), then leave by least use when there are more than
 * @max_items. Files are read by pread only. Used by the agent's main thread.
 *
 * A build-ID is a note that anybody can write into a file. Files with one build-ID are one
 * executable only if their content (executable_content.h) is equal, too. Of several contents one
 * has the build-ID as its identity: the first, or the first in a file that only root can write.
 * Each other one has a number of its own, and the hash of its code as identity.
 */

#include "common/elf/build_id.h"
#include "common/hash.h"
#include "common/limits.h"

#define KERNEL_EXECUTABLE_NUMBER 1

/* As on the wire (proto/batch.proto, Executable.role). */
enum executable_role {
	EXECUTABLE_USER = 0,
	EXECUTABLE_KERNEL = 1,
	EXECUTABLE_KERNEL_MODULE = 2,
	EXECUTABLE_VDSO = 3,
};

struct executable {
	uint32_t number;
	enum executable_role role;
	/* kind NONE only for executables that could not be identified at all */
	struct executable_id id;
	struct hash128 content; /* executable_content.h; zero for the kernel and its modules */
	bool is_trusted;        /* seen in a file that only root can write */
	/* a trusted file took its identity: no further mapping becomes this executable */
	bool is_superseded;
	char *name; /* base name of the file, "[kernel]", module name, "[vdso]" */
	struct load_segment *segments; /* empty: could not be read (the process was gone) */
	size_t n_segments;
	uint64_t first_sent_sequence; /* of the batch whose definition carried it first; 0 never */
	unsigned int references;
	/*
	 * Where it was last seen, for uploads: read through /proc/PID/map_files first, else
	 * /proc/PID/root + path.
	 */
	bool source_is_trusted;    /* only root can write that file */
	uint64_t source_looked_ns; /* when source_pid was last checked to be alive */
	uint32_t source_pid;
	uint64_t source_start, source_end; /* the mapping's range; map_files name */
	char *source_path;                 /* as the process sees it */
};

struct executable_cache;

int executable_cache_new(size_t max_items, struct executable_cache **ret_cache);
struct executable_cache *executable_cache_free(struct executable_cache *cache);

/*
 * What PERF_RECORD_MMAP2 tells of a file. On overlay and btrfs the device is not that of stat(2);
 * the inode is. Inodes are used again, with another generation.
 */
struct told_file {
	uint64_t device, inode, generation; /* 0: not told */
	/* CLOCK_MONOTONIC: when it was told; 0: it was not, but read in /proc */
	uint64_t mapped_ns;
};

/* One executable mapping of a process, as /proc/PID/maps or PERF_RECORD_MMAP2 tells it. */
struct mapped_file {
	uint32_t pid;
	uint32_t parent_pid; /* 0 not known */
	uint64_t start, end;
	uint64_t file_offset;
	/* as the process sees it; may end in " (deleted)" in /proc/PID/maps */
	const char *path;
	struct told_file told;
	bool is_copy; /* memory without a file, in which the process has copied the file's bytes */
};

/*
 * Of a look-up that does not run at once (agent/helper/identifier.h): it failed for a reason that
 * may pass (a helper died or hung, its queue was full, the device or the file is left alone).
 * Another one can begin some seconds later.
 */
#define EXECUTABLE_UNAVAILABLE 2

/*
 * Identifies the file behind a mapping: /proc/PID/map_files/START-END, if it is what was told.
 * Else, as the process is gone, or something else is mapped there by now: what was identified
 * before of which the same was told; or PATH, in the process's root, its parent's or on the host,
 * if it is the told inode and was not changed since it was mapped. A copy is identified only if the
 * memory has the bytes of the file, otherwise it is EXECUTABLE_UNAVAILABLE. 1: *ret_executable
 * (borrowed; take a reference to keep it). 0: nothing to identify, or no file that is certainly it.
 * Negative errno only when memory is short.
 */
int executable_cache_identify(struct executable_cache *cache, const struct mapped_file *file,
			      struct executable **ret_executable);

/*
 * The vDSO that a process has mapped at [start, end): 1: the same as our own; 0: another one, as in
 * a 32-bit process.
 */
int executable_cache_identify_vdso(struct executable_cache *cache, uint64_t start, uint64_t end,
				   struct executable **ret_executable);

/* Registers the kernel image (must be the first: number 1) and its modules. */
struct kernel_layout;
int executable_cache_add_kernel(struct executable_cache *cache, const struct kernel_layout *layout);

/* NULL when it left the cache. */
struct executable *executable_cache_by_number(struct executable_cache *cache, uint32_t number);
struct executable *executable_cache_by_id(struct executable_cache *cache,
					  const struct executable_id *id);

void executable_ref(struct executable *executable);
void executable_unref(struct executable_cache *cache, struct executable *executable);

/* Every definition first sent after this batch counts as never sent (0: all of them). */
void executable_cache_forget_sendings(struct executable_cache *cache,
				      uint64_t acknowledged_sequence);

/* Files that were forgotten though their executables are in use: there were too many. */
uint64_t executable_cache_files_evicted(const struct executable_cache *cache);

size_t executable_cache_count(const struct executable_cache *cache);

/* Files whose build-ID was already that of another content. */
uint64_t executable_cache_id_conflicts(const struct executable_cache *cache);

/*
 * Executables whose identity a trusted file took: mappings that have one are to be identified
 * again.
 */
uint64_t executable_cache_n_superseded(const struct executable_cache *cache);

/*
 * Opens the file of an executable for reading (an upload), by its source or by any path that still
 * gives the same identity. The fd, or negative errno (-ENOENT: no copy is left).
 */
int executable_open(const struct executable *executable);

/*
 * Load bias of a mapping: pc - bias is an ELF virtual address. 1 found, 0: no segment holds
 * @file_offset.
 */
int executable_load_bias(const struct executable *executable, uint64_t start, uint64_t file_offset,
			 uint64_t *ret_bias);

#include "common/scoped.h"
DEFINE_SCOPED(struct executable_cache *, executable_cache_free);
