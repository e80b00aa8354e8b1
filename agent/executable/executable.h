/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Executables: the files behind mappings, each identified once per host and numbered for the wire.
 *
 * The cache finds an executable by (device, inode, mtime, size), or by the kernel's report of the
 * mapping, so that a file is opened once and not once per process. Numbers are dense from 1 within
 * this run and never reused; number 1 is the kernel image. An entry is kept while a live process
 * maps it (executable_ref/unref). If there are more than @max_items entries, the least recently
 * used ones without references are evicted. Files are read by pread only. Used by the agent's main
 * thread.
 *
 * Anybody can write any build-ID into a file. Files with the same build-ID are one executable only
 * if their content (executable_content.h) is equal too. If files with the same build-ID have
 * different contents, one content keeps the build-ID as its identity: the first content that was
 * found in a file that only root can write, else the first one at all. Each other content becomes
 * an executable with its own number, and the hash of its code is its identity.
 */

#include "agent/executable/interpreter_facts.h"
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
	/* a trusted file now has this identity, so no further mapping gets this executable */
	bool is_superseded;
	char *name; /* base name of the file, "[kernel]", module name, "[vdso]" */
	struct load_segment *segments; /* empty: could not be read (the process had ended) */
	size_t n_segments;
	struct interpreter_facts interpreter;
	uint16_t interpreter_index;   /* in the BPF map `interpreters`; 0: not written */
	uint64_t first_sent_sequence; /* first batch that carried the definition; 0: none */
	unsigned int references;
	uint64_t n_innermost; /* samples whose innermost user frame is in the executable */
	/*
	 * The source: the mapping in which the executable was last seen. Uploads read the file
	 * through /proc/PID/map_files, else through /proc/PID/root + path.
	 */
	bool source_is_trusted;    /* only root can write the mapped file */
	uint64_t source_looked_ns; /* when source_pid was last checked to be alive */
	uint32_t source_pid;
	uint64_t source_start, source_end; /* the mapping's range; map_files name */
	char *source_path;                 /* as the process sees it */
};

struct executable_cache;

int executable_cache_new(size_t max_items, struct executable_cache **ret_cache);
struct executable_cache *executable_cache_free(struct executable_cache *cache);

/*
 * The file that PERF_RECORD_MMAP2 reported. On overlay and btrfs the device differs from that of
 * stat(2), but the inode is the same. A reused inode has another generation.
 */
struct reported_file {
	uint64_t device, inode, generation; /* 0: not reported */
	/* CLOCK_MONOTONIC time of the report; 0: no report, the mapping was read from /proc */
	uint64_t mapped_ns;
};

/* One executable mapping of a process, from /proc/PID/maps or PERF_RECORD_MMAP2. */
struct mapped_file {
	uint32_t pid;
	uint32_t parent_pid; /* 0: not known */
	uint64_t start, end;
	uint64_t file_offset;
	/* as the process sees it; may end in " (deleted)" in /proc/PID/maps */
	const char *path;
	struct reported_file reported;
	bool is_copy; /* anonymous memory into which the process copied the bytes of the file */
};

/*
 * Result of executable_cache_identify() and of look-ups in helpers (agent/helper/identifier.h) that
 * failed for a reason that may be temporary: a helper died or hung, its queue was full, the device
 * or the file is being avoided, or memory is not yet a full copy of the file. The caller may try
 * again some seconds later.
 */
#define EXECUTABLE_UNAVAILABLE 2

/*
 * Identifies the file behind a mapping. First opens /proc/PID/map_files/START-END and checks that
 * it is the reported file. If the process has ended, or has mapped another file at this address
 * since, opens PATH in the root of the process, of its parent or of the host, and accepts the file
 * if it has the reported inode and was not changed since it was mapped. If there is no such file,
 * takes the executable that was identified before from the same report. A copy (@file->is_copy) is
 * identified only if the memory has the bytes of the file; otherwise the result is
 * EXECUTABLE_UNAVAILABLE.
 *
 * 1: *ret_executable (borrowed; take a reference to keep it). 0: nothing to identify, or no file
 * that is certainly the mapped one. Negative errno only if memory is short.
 */
int executable_cache_identify(struct executable_cache *cache, const struct mapped_file *file,
			      struct executable **ret_executable);

/*
 * Identifies the vDSO that a process has mapped at [start, end). 1: it is the same as the agent's
 * vDSO; 0: it is a different one, as in a 32-bit process.
 */
int executable_cache_identify_vdso(struct executable_cache *cache, uint64_t start, uint64_t end,
				   struct executable **ret_executable);

/*
 * Adds the kernel image and its modules. Must be called before anything else is added, because the
 * image must get number 1.
 */
struct kernel_layout;
int executable_cache_add_kernel(struct executable_cache *cache, const struct kernel_layout *layout);

/* NULL: not in the cache, or evicted. */
struct executable *executable_cache_by_number(struct executable_cache *cache, uint32_t number);
struct executable *executable_cache_by_id(struct executable_cache *cache,
					  const struct executable_id *id);

/*
 * Replaces the source of @executable by @file, a mapping of the executable in another process.
 * Later uploads read the file from there. source_is_trusted becomes true only if the kernel
 * reported the mapping, and the cache has recorded earlier that only root can write this file. 0 or
 * -ENOMEM.
 */
int executable_cache_replace_source(struct executable_cache *cache, struct executable *executable,
				    const struct mapped_file *file);

void executable_ref(struct executable *executable);
void executable_unref(struct executable_cache *cache, struct executable *executable);

/*
 * Marks each executable whose definition was first sent after batch @acknowledged_sequence as not
 * sent, so that it is sent again. 0: all executables.
 */
void executable_cache_forget_sendings(struct executable_cache *cache,
				      uint64_t acknowledged_sequence);

/*
 * Number of files that were evicted from the cache's index of files (by device, inode, mtime, size)
 * although their executables are in use. Such a file is identified again at its next mapping.
 */
uint64_t executable_cache_files_evicted(const struct executable_cache *cache);

size_t executable_cache_count(const struct executable_cache *cache);

/* Number of files that have the build-ID of another executable, but a different content. */
uint64_t executable_cache_id_conflicts(const struct executable_cache *cache);

/*
 * Number of superseded executables. When it rises, the process table must identify the mappings of
 * these executables again.
 */
uint64_t executable_cache_n_superseded(const struct executable_cache *cache);

/*
 * Opens the file of an executable for an upload: through its source, or by any path that leads to a
 * file with the same content. Returns the fd, or -ENOENT if no such file is left.
 */
int executable_open(const struct executable *executable);

/*
 * Load bias of a mapping: pc - bias is an ELF virtual address. 1: found; 0: no segment contains
 * @file_offset.
 */
int executable_load_bias(const struct executable *executable, uint64_t start, uint64_t file_offset,
			 uint64_t *ret_bias);

#include "common/scoped.h"
DEFINE_SCOPED(struct executable_cache *, executable_cache_free);
