/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three restrictions, each of which alone isolates the process: resource limits, a Landlock ruleset
 * without any access (by system call, because libc has no wrapper), and a list of system calls.
 */

#include "common/sandbox.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "common/capabilities.h"
#include "common/file.h"
#include "common/sanitized.h"
#include "common/scoped.h"
#include "common/system_call_filter.h"

static int set_limit(int resource, uint64_t soft, uint64_t hard)
{
	const struct rlimit limit = { .rlim_cur = soft, .rlim_max = hard };

	return setrlimit(resource, &limit) < 0 ? -errno : 0;
}

static int set_limits(const struct sandbox_rules *rules)
{
	const uint64_t max_files = rules->serves ? SANDBOX_MAX_FILES : 0;
	int r;

	r = set_limit(RLIMIT_CORE, 0, 0);
	if (r < 0)
		return r;
	r = set_limit(RLIMIT_FSIZE, rules->written_bytes, rules->written_bytes);
	if (r < 0)
		return r;
	/* At the soft limit the kernel sends SIGXCPU, at the hard limit SIGKILL. */
	r = set_limit(RLIMIT_CPU, rules->cpu_s, rules->cpu_s + 1);
	if (r < 0)
		return r;
	/* AddressSanitizer reserves terabytes. */
	if (!SANITIZED)
		r = set_limit(RLIMIT_AS, rules->address_space_bytes, rules->address_space_bytes);
	if (r < 0)
		return r;
	/* Descriptors that are already open stay open. */
	return set_limit(RLIMIT_NOFILE, max_files, max_files);
}

/* ---- Landlock ---- */

#ifndef LANDLOCK_CREATE_RULESET_VERSION
#define LANDLOCK_CREATE_RULESET_VERSION (1U << 0)
#endif

/* Version 6 of the interface. Earlier versions use the first fields only. */
struct ruleset {
	uint64_t handled_access_fs;
	uint64_t handled_access_net; /* since version 4: bind and connect of TCP */
	uint64_t scoped;             /* since version 6: abstract UNIX sockets, signals */
};

static struct ruleset everything(long version, size_t *ret_size)
{
	/* Version 1 has 13 rights; 2 adds refer, 3 truncate, 5 ioctl of devices. */
	unsigned int n_fs = version >= 5 ? 16 : version >= 3 ? 15 : version == 2 ? 14 : 13;

	*ret_size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
	return (struct ruleset){
		.handled_access_fs = (UINT64_C(1) << n_fs) - 1,
		.handled_access_net = 3,
		.scoped = 3,
	};
}

/* 1: done, 0: the kernel lacks Landlock or has disabled it, or negative errno. */
static int enter_landlock(void)
{
	long version =
		syscall(SYS_landlock_create_ruleset, NULL, 0UL, LANDLOCK_CREATE_RULESET_VERSION);
	scoped_fd int fd = -1;
	struct ruleset ruleset;
	size_t size;

	if (version < 1)
		return errno == ENOSYS || errno == EOPNOTSUPP ? 0 : -errno;
	ruleset = everything(version, &size);
	fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, size, 0U);
	if (fd < 0)
		return -errno;
	return syscall(SYS_landlock_restrict_self, fd, 0U) < 0 ? -errno : 1;
}

/* ---- system calls ---- */

/* Allowed with any arguments: memory, time, waits between threads, exit. */
static const int plain_calls[] = {
	SCMP_SYS(read),
	SCMP_SYS(pread64),
	SCMP_SYS(lseek),
	SCMP_SYS(fstat),
	SCMP_SYS(close),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	SCMP_SYS(futex),
	SCMP_SYS(sched_yield),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(getrandom),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(sysinfo),           /* qsort() reads the size of the memory */
	SCMP_SYS(sched_getaffinity), /* AddressSanitizer calls it for each thread */
};

/* A filter cannot see the flags of clone3, which are in memory. On ENOSYS libc uses clone. */
static const int absent_calls[] = { SCMP_SYS(clone3) };

static const struct system_call_list call_lists[] = {
	{ .action = SCMP_ACT_ALLOW, .calls = plain_calls, .n_calls = ARRAY_SIZE(plain_calls) },
	{ .action = SCMP_ACT_ERRNO(ENOSYS),
	  .calls = absent_calls,
	  .n_calls = ARRAY_SIZE(absent_calls) },
};

/* The last rows of the table below, for a process with sandbox_rules.serves only. */
#define N_SERVICE_ROWS 4

/* 1: done, 0: the kernel lacks seccomp, or negative errno. */
static int enter_seccomp(const struct sandbox_rules *rules)
{
	/* Names are demangled by a thread with a larger stack. No processes may be created. */
	const scmp_datum_t thread =
		CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
	const scmp_datum_t out = (scmp_datum_t)rules->out_fd;
	const struct system_call_condition conditions[] = {
		{ SCMP_SYS(write), SCMP_ACT_ALLOW, SCMP_A0(SCMP_CMP_EQ, out, 0) },
		/* assert() writes its message to stderr. */
		{ SCMP_SYS(write), SCMP_ACT_ALLOW, SCMP_A0(SCMP_CMP_EQ, STDERR_FILENO, 0) },
		{ SCMP_SYS(mmap), SCMP_ACT_ALLOW, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0) },
		{ SCMP_SYS(mprotect), SCMP_ACT_ALLOW, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0) },
		{ SCMP_SYS(newfstatat), SCMP_ACT_ALLOW, SCMP_A3(SCMP_CMP_EQ, AT_EMPTY_PATH, 0) },
		{ SCMP_SYS(clone), SCMP_ACT_ALLOW, SCMP_A0(SCMP_CMP_MASKED_EQ, thread, thread) },
		{ SCMP_SYS(tgkill), SCMP_ACT_ALLOW,
		  SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0) },
		/* Messages on the socket, and writes to the received descriptors. */
		{ SCMP_SYS(recvmsg), SCMP_ACT_ALLOW, SCMP_A0(SCMP_CMP_EQ, out, 0) },
		{ SCMP_SYS(sendmsg), SCMP_ACT_ALLOW, SCMP_A0(SCMP_CMP_EQ, out, 0) },
		{ SCMP_SYS(write), SCMP_ACT_ALLOW, SCMP_A0(SCMP_CMP_GT, out, 0) },
		{ SCMP_SYS(pwrite64), SCMP_ACT_ALLOW, SCMP_A0(SCMP_CMP_GT, out, 0) },
	};

	return system_call_filter_load(&(struct system_call_filter){
		.default_action = SCMP_ACT_KILL_PROCESS,
		.lists = call_lists,
		.n_lists = ARRAY_SIZE(call_lists),
		.conditions = conditions,
		.n_conditions = ARRAY_SIZE(conditions) - (rules->serves ? 0 : N_SERVICE_ROWS),
	});
}

int sandbox_enter(const struct sandbox_rules *rules)
{
	int lacks = 0;
	int r = 0;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	/* No other process of this user may read its memory or its descriptors. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	if (!(rules->without & SANDBOX_LANDLOCK))
		r = enter_landlock();
	if (r < 0)
		return r;
	lacks |= r == 0 ? SANDBOX_LANDLOCK : 0;
	r = set_limits(rules);
	if (r < 0)
		return r;
	if (!(rules->without & SANDBOX_SECCOMP))
		r = enter_seccomp(rules);
	if (r < 0)
		return r;
	return lacks | (r == 0 ? SANDBOX_SECCOMP : 0);
}

/* The user nobody (the kernel's overflow user), which owns no files. */
#define NOBODY 65534

int sandbox_drop_user(void)
{
	/* Without root privileges setgroups() fails, and the user stays the same. */
	if (setgroups(0, NULL) == 0 &&
	    (setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0))
		return -errno;
	return capabilities_limit(0);
}

int sandbox_end_with_parent(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return -errno;
	/* The parent may have ended before the call. */
	return getppid() == parent ? 0 : -ESRCH;
}

void sandbox_yield_to_others(void)
{
	scoped_fd int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)write_all(fd, "1000", 4);
}
