/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/bpf_programs/load_error.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

#include "common/log.h"

/* Descriptors that the agent needs at its start: of maps, programs, links and per-CPU events. */
#define ENOUGH_FILES 4096

void load_error_remedy(int error, uint64_t max_files, char ret_remedy[LOAD_REMEDY_SIZE])
{
	const char *remedy;

	if (error == -EMFILE) {
		(void)snprintf(ret_remedy, LOAD_REMEDY_SIZE,
			       "the limit on open files of the process is %" PRIu64
			       ", and every map and program needs a descriptor; raise it to %d "
			       "with LimitNOFILE= of the systemd unit, or ulimit -n",
			       max_files, ENOUGH_FILES);
		return;
	}
	switch (error) {
	case -ENFILE:
		remedy = "the host has reached its limit on open files; raise the sysctl "
			 "fs.file-max";
		break;
	/* EACCES is an answer of the verifier, which root gets too. EPERM: a permission lacks. */
	case -EPERM:
		remedy = "run as root, or with the capabilities CAP_BPF and CAP_PERFMON "
			 "(CAP_SYS_ADMIN before 5.8); a container or a locked-down kernel may "
			 "forbid it to root as well";
		break;
	case -ENOMEM:
	case -E2BIG:
		remedy = "make the maps smaller with ring_size and unwind.table_size";
		break;
	default:
		remedy = "the kernel refuses them, --log_level=debug prints the verifier's "
			 "reason; please report it with the output of `uname -a`";
	}
	(void)snprintf(ret_remedy, LOAD_REMEDY_SIZE, "%s", remedy);
}

int load_error_log(int error, const char *attempt)
{
	struct rlimit limit = {};
	char remedy[LOAD_REMEDY_SIZE];

	(void)getrlimit(RLIMIT_NOFILE, &limit);
	load_error_remedy(error, limit.rlim_cur, remedy);
	return log_error_errno(error, "cannot %s: %m; %s", attempt, remedy);
}
