/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The capabilities that the agent uses (common/privileges.def), for the agent, which asks for them,
 * and for the command that examines a host.
 */

#include <stdbool.h>
#include <stdint.h>

enum privilege {
#define PRIVILEGE(id, ...) PRIVILEGE_##id,
#include "common/privileges.def"
#undef PRIVILEGE
	PRIVILEGE_COUNT,
};

enum privilege_need {
	PRIVILEGE_IS_REQUIRED, /* the agent does not start without it */
	PRIVILEGE_DEGRADES,    /* the agent starts, and logs what is lost */
	PRIVILEGE_IS_SILENT,   /* the part of the agent that misses it reports it */
};

enum privilege_time {
	PRIVILEGE_IS_KEPT,  /* while the agent runs */
	PRIVILEGE_AT_START, /* given up before the first thread is created */
};

struct privilege_row {
	uint64_t bit;
	uint64_t alternative; /* that the kernel accepts in its stead; the same bit: none */
	const char *name;     /* without CAP_ */
	const char *loss;     /* what is lost without it */
	enum privilege_need need;
	enum privilege_time time;
};

const struct privilege_row *privilege_row(enum privilege privilege);

/* Whether @permitted holds the capability of @privilege or its alternative. */
bool privilege_is_in(enum privilege privilege, uint64_t permitted);

/*
 * kernel.perf_event_paranoid: Debian's and Ubuntu's kernels know values above 2 (Debian's default
 * is 3), at which perf_event_open() asks for CAP_SYS_ADMIN: CAP_PERFMON does not help.
 */
#define PARANOID_BEYOND_PERFMON 3

/*
 * Inodes of /proc/PID/ns/{user,pid} of the host's namespaces: include/linux/proc_ns.h, the same
 * since Linux 3.8.
 */
#define INITIAL_USER_NAMESPACE 0xeffffffdu
#define INITIAL_PID_NAMESPACE  0xeffffffcu
