/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a seccomp filter of the table, and of the calls that are allowed with certain arguments. */
#include "agent/system_calls.h"

#include <linux/bpf.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/sanitized.h"
#include "common/system_call_filter.h"

#define CLONE_NAMESPACES                                                                           \
	((scmp_datum_t)(CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS |              \
			CLONE_NEWPID | CLONE_NEWUSER | CLONE_NEWUTS))

/* Sanitizers make other calls: the leak check, for example, traces the threads of the program. */
static const uint32_t default_action = SANITIZED ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(ENOSYS);

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

static const struct system_call_list lists[] = {
	{ .action = SCMP_ACT_ALLOW, .calls = allowed_calls, .n_calls = ARRAY_SIZE(allowed_calls) },
	{ .action = SCMP_ACT_KILL_PROCESS,
	  .calls = forbidden_calls,
	  .n_calls = ARRAY_SIZE(forbidden_calls) },
};

int system_calls_restrict(void)
{
	const struct system_call_condition conditions[] = {
		{ SCMP_SYS(bpf), SCMP_ACT_ALLOW, SCMP_A0(SCMP_CMP_NE, BPF_BTF_GET_NEXT_ID) },
		/*
		 * libbpf looks for types that the kernel image lacks in those of its modules, for
		 * which the kernel requires CAP_SYS_ADMIN. Without it, libbpf 1.1 refuses to load
		 * any program. The agent's programs need no types of modules, so the filter reports
		 * that there are none.
		 */
		{ SCMP_SYS(bpf), SCMP_ACT_ERRNO(ENOENT),
		  SCMP_A0(SCMP_CMP_EQ, BPF_BTF_GET_NEXT_ID) },
		{ SCMP_SYS(clone), SCMP_ACT_ALLOW,
		  SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NAMESPACES, 0) },
		/* 0: checks that a process exists. The others: end a child process. */
		{ SCMP_SYS(kill), SCMP_ACT_ALLOW, SCMP_A1(SCMP_CMP_EQ, 0) },
		{ SCMP_SYS(kill), SCMP_ACT_ALLOW, SCMP_A1(SCMP_CMP_EQ, SIGTERM) },
		{ SCMP_SYS(kill), SCMP_ACT_ALLOW, SCMP_A1(SCMP_CMP_EQ, SIGKILL) },
		{ SCMP_SYS(tgkill), SCMP_ACT_ALLOW, SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()) },
		{ SCMP_SYS(socket), SCMP_ACT_ALLOW, SCMP_A0(SCMP_CMP_EQ, AF_INET) },
		{ SCMP_SYS(socket), SCMP_ACT_ALLOW, SCMP_A0(SCMP_CMP_EQ, AF_INET6) },
		{ SCMP_SYS(socket), SCMP_ACT_ALLOW, SCMP_A0(SCMP_CMP_EQ, AF_UNIX) },
		{ SCMP_SYS(socket), SCMP_ACT_ALLOW, SCMP_A0(SCMP_CMP_EQ, AF_NETLINK) },
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return system_call_filter_load(&(struct system_call_filter){
		.default_action = default_action,
		.lists = lists,
		.n_lists = ARRAY_SIZE(lists),
		.conditions = conditions,
		.n_conditions = ARRAY_SIZE(conditions),
	});
}
