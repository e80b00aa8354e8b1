/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The capabilities that the agent uses (common/privileges.def). The agent checks that it has them,
 * and the `hearth` command checks a host for them.
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
	/* not logged at the start; the part of the agent that needs it logs its failure */
	PRIVILEGE_IS_SILENT,
};

enum privilege_time {
	PRIVILEGE_IS_KEPT,  /* while the agent runs */
	PRIVILEGE_AT_START, /* given up before the first thread is created */
};

struct privilege_row {
	uint64_t bit;
	uint64_t alternative; /* which the kernel accepts instead; equal to @bit: none */
	const char *name;     /* without CAP_ */
	const char *loss;     /* what is lost without it */
	enum privilege_need need;
	enum privilege_time time;
};

const struct privilege_row *privilege_row(enum privilege privilege);

/* Whether @permitted holds the capability of @privilege or its alternative. */
bool privilege_is_in(enum privilege privilege, uint64_t permitted);

/*
 * kernel.perf_event_paranoid: Debian's and Ubuntu's kernels accept values above 2 (Debian's default
 * is 3), with which perf_event_open() requires CAP_SYS_ADMIN. CAP_PERFMON is not enough.
 */
#define PARANOID_BEYOND_PERFMON 3

/*
 * Inodes of /proc/PID/ns/{user,pid} of the initial namespaces, unchanged since Linux 3.8
 * (include/linux/proc_ns.h).
 */
#define INITIAL_USER_NAMESPACE 0xeffffffdu
#define INITIAL_PID_NAMESPACE  0xeffffffcu
