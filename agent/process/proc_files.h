/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What /proc/PID tells of a process. Every function returns -ESRCH when the process is gone.
 */

#include "common/bytes.h"

struct proc_stat {
	char comm[64];
	uint32_t parent_pid;
	uint32_t flags;         /* PF_KTHREAD is 0x00200000 */
	uint64_t start_time_ns; /* since boot, in steps of 10 ms */
};

#define PROC_FLAG_KERNEL_THREAD 0x00200000u
#define PROC_FLAG_EXITING       0x00000004u

/* /proc/PID/stat (proc(5)): comm may hold any byte, so the last ')' ends it. */
int proc_stat_read(uint32_t pid, struct proc_stat *ret_stat);

struct proc_mapping {
	uint64_t start, end, file_offset;
	bool executable;
	uint64_t inode;   /* 0: no file */
	const char *path; /* "" for anonymous memory; valid during the call only */
};

/*
 * Calls @function for every line of @text, a /proc/PID/maps with a NUL at its end; it returns < 0
 * to stop.
 */
int proc_maps_parse(struct bytes *text,
		    int (*function)(void *arg, const struct proc_mapping *mapping), void *arg);

/* A process with 65530 mappings (vm.max_map_count) of 100 bytes. */
#define PROC_MAPS_MAX_BYTES (16 * MIB)

/*
 * The same of process @pid. Waits for the lock of its mappings, as proc_argument_names_read() does:
 * its holder may hang in a file system.
 */
int proc_maps_read(uint32_t pid, int (*function)(void *arg, const struct proc_mapping *mapping),
		   void *arg);

/* The target of /proc/PID/exe without " (deleted)". -ENOENT for kernel threads. */
int proc_exe_read(uint32_t pid, char *ret_path, size_t size);

/*
 * The base names that a process was started by: of argv[0], and of argv[1], which is the script of
 * an interpreter. @text: the beginning of a /proc/PID/cmdline, with a NUL at its end. Nothing else
 * of the command line is kept.
 */
void proc_argument_names_parse(const struct bytes *text, char *ret_first, char *ret_second,
			       size_t size);

/* The same of process @pid. */
int proc_argument_names_read(uint32_t pid, char *ret_first, char *ret_second, size_t size);

/*
 * Of the hierarchies in a /proc/PID/cgroup, "" or lines "ID:CONTROLLERS:PATH", the path that says
 * most of the process: one that names a container, else that of the unified hierarchy, systemd's
 * own, or the first one that is not the root.
 */
void proc_cgroup_parse(const char *text, char *ret_path, size_t size);

/* The same of process @pid. */
int proc_cgroup_read(uint32_t pid, char *ret_path, size_t size);

/* Whether a process has threads that are alive; the leader itself may be a zombie. */
bool proc_has_live_threads(uint32_t pid);

/* Calls @function for every process in /proc. */
int proc_list(int (*function)(void *arg, uint32_t pid), void *arg);
