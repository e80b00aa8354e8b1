/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A seccomp filter, described by tables. It holds for the calling thread, and for all threads and
 * processes that this thread makes afterwards.
 */

#include <seccomp.h>

#include "common/base.h"

/* Calls with one action, whatever their arguments are. */
struct system_call_list {
	uint32_t action; /* SCMP_ACT_... */
	const int *calls;
	size_t n_calls;
};

/* A call with an action that holds if an argument fulfils a condition. */
struct system_call_condition {
	int call;
	uint32_t action;
	struct scmp_arg_cmp condition;
};

/*
 * A table whose action is the default action is left out: libseccomp refuses rules that change
 * nothing.
 */
struct system_call_filter {
	uint32_t default_action;
	const struct system_call_list *lists;
	size_t n_lists;
	const struct system_call_condition *conditions;
	size_t n_conditions;
};

/*
 * The process needs PR_SET_NO_NEW_PRIVS or CAP_SYS_ADMIN. 1 loaded; 0: the kernel has no seccomp;
 * negative errno.
 */
int system_call_filter_load(const struct system_call_filter *filter);
