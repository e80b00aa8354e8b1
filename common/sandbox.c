/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applies resource limits, a Landlock ruleset that allows nothing, and a seccomp filter that allows
 * only the system calls listed below. Landlock and the filter each prevent the process from opening
 * files, so the process cannot open any if the kernel lacks one of the two. Landlock is called by
 * syscall(), because libc has no wrappers for it.
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
	/* AddressSanitizer reserves terabytes of address space, so it cannot run with a limit. */
	if (!SANITIZED)
		r = set_limit(RLIMIT_AS, rules->address_space_bytes, rules->address_space_bytes);
	if (r < 0)
		return r;
	/* The limit applies to new descriptors only: those that are open stay open. */
	return set_limit(RLIMIT_NOFILE, max_files, max_files);
}

/* ---- Landlock ---- */

#ifndef LANDLOCK_CREATE_RULESET_VERSION
#define LANDLOCK_CREATE_RULESET_VERSION (1U << 0)
#endif

/*
 * struct landlock_ruleset_attr of version 6 of the Landlock ABI, which the headers of older systems
 * lack. Earlier versions have only the first fields.
 */
struct ruleset {
	uint64_t handled_access_fs;
	uint64_t handled_access_net; /* since version 4: bind and connect of TCP */
	uint64_t scoped;             /* since version 6: abstract UNIX sockets, signals */
};

/*
 * A ruleset that handles every access right of @version, and so denies all of them. *ret_size is
 * the size of the struct in @version.
 */
static struct ruleset everything(long version, size_t *ret_size)
{
	/* Version 1 has 13 rights for files. Version 2 adds REFER, 3 TRUNCATE, and 5 IOCTL_DEV. */
	unsigned int n_fs = version >= 5 ? 16 : version >= 3 ? 15 : version == 2 ? 14 : 13;

	*ret_size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
	return (struct ruleset){
		.handled_access_fs = (UINT64_C(1) << n_fs) - 1,
		.handled_access_net = 3,
		.scoped = 3,
	};
}

/* 1: restricted, 0: the kernel lacks Landlock or has disabled it, or negative errno. */
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

/*
 * Allowed with any arguments. None of them opens a file, creates a process or thread, or sends a
 * signal.
 */
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
	SCMP_SYS(sysinfo),           /* glibc's qsort() reads the size of the memory */
	SCMP_SYS(sched_getaffinity), /* AddressSanitizer calls it for each thread */
};

/*
 * A filter sees registers only, but the flags of clone3 are in memory. So clone3 fails with ENOSYS,
 * and libc uses clone instead, with flags in a register.
 */
static const int absent_calls[] = { SCMP_SYS(clone3) };

static const struct system_call_list call_lists[] = {
	{ .action = SCMP_ACT_ALLOW, .calls = plain_calls, .n_calls = ARRAY_SIZE(plain_calls) },
	{ .action = SCMP_ACT_ERRNO(ENOSYS),
	  .calls = absent_calls,
	  .n_calls = ARRAY_SIZE(absent_calls) },
};

/* Number of rows at the end of conditions[] that apply only if sandbox_rules.serves is set. */
#define N_SERVICE_ROWS 4

/* 1: restricted, 0: the kernel lacks seccomp, or negative errno. */
static int enter_seccomp(const struct sandbox_rules *rules)
{
	/*
	 * The filter allows clone() only with these flags, so it can create threads but not
	 * processes. The symbolizer demangles names in a thread with a larger stack.
	 */
	const scmp_datum_t thread =
		CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
	const scmp_datum_t out = (scmp_datum_t)rules->out_fd;
	const struct system_call_condition conditions[] = {
		{ SCMP_SYS(write), SCMP_ACT_ALLOW, SCMP_A0(SCMP_CMP_EQ, out, 0) },
		/* assert() writes its message to stderr. */
		{ SCMP_SYS(write), SCMP_ACT_ALLOW, SCMP_A0(SCMP_CMP_EQ, STDERR_FILENO, 0) },
		/* No executable memory. */
		{ SCMP_SYS(mmap), SCMP_ACT_ALLOW, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0) },
		{ SCMP_SYS(mprotect), SCMP_ACT_ALLOW, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0) },
		/* Some versions of glibc implement fstat() by newfstatat(). */
		{ SCMP_SYS(newfstatat), SCMP_ACT_ALLOW, SCMP_A3(SCMP_CMP_EQ, AT_EMPTY_PATH, 0) },
		{ SCMP_SYS(clone), SCMP_ACT_ALLOW, SCMP_A0(SCMP_CMP_MASKED_EQ, thread, thread) },
		/* Signals to threads of this process only: abort() needs one. */
		{ SCMP_SYS(tgkill), SCMP_ACT_ALLOW,
		  SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0) },
		/*
		 * The N_SERVICE_ROWS: messages on the socket @out, and writes to the descriptors
		 * that the process receives from the socket. Their numbers are above @out.
		 */
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
	/*
	 * Makes the kernel deny ptrace() and /proc/PID/{mem,fd} of this process to other processes
	 * of the same user.
	 */
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
	/* If the parent ended before prctl(), the kernel sends no signal. */
	return getppid() == parent ? 0 : -ESRCH;
}

void sandbox_yield_to_others(void)
{
	scoped_fd int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)write_all(fd, "1000", 4);
}
