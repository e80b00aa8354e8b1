/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Readers of the files of one process in /proc/PID. All return -ESRCH if it has exited. */

#include "common/bytes.h"

struct proc_stat {
	char comm[64];
	uint32_t parent_pid;
	uint32_t flags;         /* PROC_FLAG_ */
	uint64_t start_time_ns; /* since boot, in steps of 10 ms */
};

/* The kernel's PF_KTHREAD and PF_EXITING. */
#define PROC_FLAG_KERNEL_THREAD 0x00200000u
#define PROC_FLAG_EXITING       0x00000004u

/* Reads /proc/PID/stat. comm may contain any byte, so the last ')' ends it (proc(5)). */
int proc_stat_read(uint32_t pid, struct proc_stat *ret_stat);

struct proc_mapping {
	uint64_t start, end, file_offset;
	bool executable;
	uint64_t inode;   /* 0: no file */
	const char *path; /* "" for anonymous memory; valid during the call only */
};

/*
 * Calls @function for every line of @text until it returns < 0. @text: a /proc/PID/maps with a NUL
 * at its end.
 */
int proc_maps_parse(struct bytes *text,
		    int (*function)(void *arg, const struct proc_mapping *mapping), void *arg);

/* Size of /proc/PID/maps: 65530 lines (vm.max_map_count) of 100 bytes take 6.5 MB. */
#define PROC_MAPS_MAX_BYTES (16 * MIB)

/*
 * Does the same for process @pid. Like proc_argument_names_read(), it waits for the lock of the
 * process's mappings, and the holder of the lock may hang in a file system.
 */
int proc_maps_read(uint32_t pid, int (*function)(void *arg, const struct proc_mapping *mapping),
		   void *arg);

/* The target of /proc/PID/exe without " (deleted)". -ENOENT for kernel threads. */
int proc_exe_read(uint32_t pid, char *ret_path, size_t size);

/*
 * The base names of argv[0] and argv[1]; argv[1] of an interpreter is its script. @text: the
 * beginning of a /proc/PID/cmdline, with a NUL at its end. Nothing else of the command line is
 * kept.
 */
void proc_argument_names_parse(const struct bytes *text, char *ret_first, char *ret_second,
			       size_t size);

/* Does the same for process @pid. */
int proc_argument_names_read(uint32_t pid, char *ret_first, char *ret_second, size_t size);

/*
 * Chooses one path among the hierarchies of a /proc/PID/cgroup, which is empty or has lines
 * "ID:CONTROLLERS:PATH": a path that names a container, else the path of the unified hierarchy,
 * else that of systemd's hierarchy, else the first one that is not the root.
 */
void proc_cgroup_parse(const char *text, char *ret_path, size_t size);

/* Does the same for process @pid. */
int proc_cgroup_read(uint32_t pid, char *ret_path, size_t size);

/* Whether a process has live threads. The leader itself may be a zombie. */
bool proc_has_live_threads(uint32_t pid);

/* Calls @function for every process in /proc, until it returns < 0. */
int proc_list(int (*function)(void *arg, uint32_t pid), void *arg);
