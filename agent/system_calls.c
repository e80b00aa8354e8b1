/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of calls as a seccomp filter, with the few calls whose arguments decide.
 */
#include "agent/system_calls.h"

#include <linux/bpf.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED true
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

#define CLONE_NAMESPACES                                                                                        \
	((scmp_datum_t)(CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID |            \
			CLONE_NEWUSER | CLONE_NEWUTS))

/* Sanitizers make calls of their own, a leak check among them that traces its threads. */
static const uint32_t default_action = SANITIZED ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(ENOSYS);

/* Binary search over the calls, for kernels before 5.11, which do not remember what a filter always allows. */
#define OPTIMIZE_BY_TREE 2

static const int allowed_calls[] = {
#define SYSTEM_CALL(name) SCMP_SYS(name),
#define FORBIDDEN_CALL(name)
#include "agent/system_calls.def"
#undef SYSTEM_CALL
#undef FORBIDDEN_CALL
};

static const int forbidden_calls[] = {
#define SYSTEM_CALL(name)
#define FORBIDDEN_CALL(name) SCMP_SYS(name),
#include "agent/system_calls.def"
#undef SYSTEM_CALL
#undef FORBIDDEN_CALL
};

static int add_calls(scmp_filter_ctx filter, uint32_t action, const int *calls, size_t n_calls)
{
	for (size_t i = 0; i < n_calls; i++) {
		int r = seccomp_rule_add(filter, action, calls[i], 0);

		if (r < 0)
			return r;
	}
	return 0;
}

static int add_conditioned_calls(scmp_filter_ctx filter)
{
	const struct {
		int call;
		uint32_t action;
		struct scmp_arg_cmp condition;
	} rows[] = {
		{ SCMP_SYS(bpf), SCMP_ACT_ALLOW, SCMP_A0(SCMP_CMP_NE, BPF_BTF_GET_NEXT_ID) },
		/*
		 * libbpf looks for types that the kernel image lacks among those of its modules. The kernel asks for
		 * CAP_SYS_ADMIN there, and libbpf 1.1 then refuses to load anything. No program of ours needs a
		 * module's types: there are none.
		 */
		{ SCMP_SYS(bpf), SCMP_ACT_ERRNO(ENOENT), SCMP_A0(SCMP_CMP_EQ, BPF_BTF_GET_NEXT_ID) },
		{ SCMP_SYS(clone), SCMP_ACT_ALLOW, SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NAMESPACES, 0) },
		/* Whether a process exists; the end of one that we forked. */
		{ SCMP_SYS(kill), SCMP_ACT_ALLOW, SCMP_A1(SCMP_CMP_EQ, 0) },
		{ SCMP_SYS(kill), SCMP_ACT_ALLOW, SCMP_A1(SCMP_CMP_EQ, SIGTERM) },
		{ SCMP_SYS(kill), SCMP_ACT_ALLOW, SCMP_A1(SCMP_CMP_EQ, SIGKILL) },
		{ SCMP_SYS(tgkill), SCMP_ACT_ALLOW, SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()) },
		{ SCMP_SYS(socket), SCMP_ACT_ALLOW, SCMP_A0(SCMP_CMP_EQ, AF_INET) },
		{ SCMP_SYS(socket), SCMP_ACT_ALLOW, SCMP_A0(SCMP_CMP_EQ, AF_INET6) },
		{ SCMP_SYS(socket), SCMP_ACT_ALLOW, SCMP_A0(SCMP_CMP_EQ, AF_UNIX) },
		{ SCMP_SYS(socket), SCMP_ACT_ALLOW, SCMP_A0(SCMP_CMP_EQ, AF_NETLINK) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int r = 0;

		/* libseccomp refuses rules that say what holds anyway. */
		if (rows[i].action != default_action)
			r = seccomp_rule_add_array(filter, rows[i].action, rows[i].call, 1, &rows[i].condition);
		if (r < 0)
			return r;
	}
	return 0;
}

static int load_filter(scmp_filter_ctx filter)
{
	int r;

	/* The first keeps kernels before 5.16 from slowing the process down; neither is there in every libseccomp. */
	(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
	(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, OPTIMIZE_BY_TREE);
	r = add_conditioned_calls(filter);
	if (r == 0 && !SANITIZED)
		r = add_calls(filter, SCMP_ACT_ALLOW, allowed_calls, ARRAY_SIZE(allowed_calls));
	if (r == 0)
		r = add_calls(filter, SCMP_ACT_KILL_PROCESS, forbidden_calls, ARRAY_SIZE(forbidden_calls));
	return r < 0 ? r : seccomp_load(filter);
}

int system_calls_restrict(void)
{
	scmp_filter_ctx filter;
	int r;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0 && errno == EINVAL)
		return 0;
	filter = seccomp_init(default_action);
	if (!filter)
		return -ENOMEM;
	r = load_filter(filter);
	seccomp_release(filter);
	return r < 0 ? r : 1;
}
