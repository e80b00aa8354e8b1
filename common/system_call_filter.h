/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A seccomp filter, described by tables. It applies to the calling thread, and to all threads and
 * processes that this thread creates afterwards.
 */

#include <seccomp.h>

#include "common/base.h"

/* System calls with one action, for all arguments. */
struct system_call_list {
	uint32_t action; /* an SCMP_ACT_ constant */
	const int *calls;
	size_t n_calls;
};

/* A system call with an action that applies if an argument meets a condition. */
struct system_call_condition {
	int call;
	uint32_t action;
	struct scmp_arg_cmp condition;
};

/*
 * Lists and conditions with the default action are skipped, because libseccomp refuses rules that
 * change nothing.
 */
struct system_call_filter {
	uint32_t default_action;
	const struct system_call_list *lists;
	size_t n_lists;
	const struct system_call_condition *conditions;
	size_t n_conditions;
};

/*
 * Loads the filter. Requires PR_SET_NO_NEW_PRIVS or CAP_SYS_ADMIN. 1: loaded, 0: the kernel lacks
 * seccomp, or negative errno.
 */
int system_call_filter_load(const struct system_call_filter *filter);
