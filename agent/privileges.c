/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the capabilities of the process with the table, and words messages about missing ones.
 */
#include "agent/privileges.h"

#include <assert.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/capabilities.h"
#include "common/file.h"
#include "common/log.h"
#include "common/scoped.h"

uint64_t privileges_to_keep(uint64_t permitted, int perf_event_paranoid)
{
	uint64_t keep = 0;

	if (perf_event_paranoid >= PARANOID_BEYOND_PERFMON)
		keep |= permitted & CAPABILITY_BIT(CAP_SYS_ADMIN);

	for (unsigned int i = 0; i < PRIVILEGE_COUNT; i++) {
		const struct privilege_row *row = privilege_row(i);

		if (row->time != PRIVILEGE_IS_KEPT)
			continue;
		/* The broader alternative is kept only if the narrow capability is missing. */
		keep |= permitted & (permitted & row->bit ? row->bit : row->alternative);
	}
	return keep;
}

static bool is_required(enum privilege privilege)
{
	return privilege_row(privilege)->need == PRIVILEGE_IS_REQUIRED;
}

static void lower(const char *name, char *ret_name, size_t size)
{
	size_t i;

	for (i = 0; name[i] && i + 1 < size; i++)
		ret_name[i] =
			(char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] - 'A' + 'a' : name[i]);
	ret_name[i] = '\0';
}

/*
 * Lists all capabilities that the agent keeps as setcap(8) expects: "cap_bpf,cap_perfmon". setcap
 * replaces all capabilities of a file, so the missing one alone would not do.
 */
static void list_for_setcap(char *ret_list, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < PRIVILEGE_COUNT; i++) {
		char small[32];

		if (privilege_row(i)->time != PRIVILEGE_IS_KEPT)
			continue;
		lower(privilege_row(i)->name, small, sizeof(small));
		used += (size_t)snprintf(ret_list + used, size - used, "%scap_%s", used ? "," : "",
					 small);
		assert(used < size);
	}
}

void privilege_format(enum privilege privilege, const char *program,
		      char ret_message[PRIVILEGE_MESSAGE_SIZE])
{
	const char *name = privilege_row(privilege)->name;
	char list[256];

	list_for_setcap(list, sizeof(list));
	(void)snprintf(
		ret_message, PRIVILEGE_MESSAGE_SIZE,
		"CAP_%s is missing: %s%s; add CAP_%s to AmbientCapabilities= of the systemd unit "
		"or --cap-add=%s to the container's options, or run 'setcap %s+ep %s'",
		name, privilege_row(privilege)->loss,
		is_required(privilege) ? ", not starting" : "", name, name, list, program);
}

static void log_missing(enum privilege privilege)
{
	char program[PATH_MAX] = "";
	char message[PRIVILEGE_MESSAGE_SIZE];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

	program[length > 0 ? length : 0] = '\0';
	privilege_format(privilege, program, message);
	log_write(is_required(privilege) ? LOG_LEVEL_ERROR : LOG_LEVEL_WARN, "%s", message);
}

static int refuse_foreign_user_namespace(void)
{
	struct stat status;

	if (stat("/proc/self/ns/user", &status) < 0 || status.st_ino == INITIAL_USER_NAMESPACE)
		return 0;
	return log_error_errno(
		EPERM,
		"the agent is not in the host's user namespace, and the kernel allows BPF only "
		"there: not starting; run the container with --userns=host, without hostUsers: "
		"false");
}

int privileges_check(void)
{
	uint64_t permitted;
	int r;

	r = refuse_foreign_user_namespace();
	if (r < 0)
		return r;
	r = capabilities_permitted(&permitted);
	if (r < 0)
		return log_error_errno(
			r, "cannot read the capabilities of the agent: %m, not starting; "
			   "a security module may forbid capget(2)");
	for (enum privilege i = 0; i < PRIVILEGE_COUNT; i++) {
		if (privilege_row(i)->need == PRIVILEGE_IS_SILENT || privilege_is_in(i, permitted))
			continue;
		log_missing(i);
		if (is_required(i))
			r = -EPERM;
	}
	return r;
}

bool privileges_log_if_missing(enum privilege privilege)
{
	uint64_t permitted;

	if (capabilities_permitted(&permitted) < 0 || privilege_is_in(privilege, permitted))
		return false;
	log_missing(privilege);
	return true;
}

/* -1: it cannot be read, and CAP_SYS_ADMIN is not kept for it. */
static int read_perf_event_paranoid(void)
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(64);

	if (file_read("/proc/sys/kernel/perf_event_paranoid", &text) < 0 ||
	    bytes_append_byte(&text, 0) < 0)
		return -1;
	return (int)strtol((const char *)text.data, NULL, 10);
}

const char *privilege_perf_remedy(uint64_t permitted, int perf_event_paranoid)
{
	if (!privilege_is_in(PRIVILEGE_PERFMON, permitted))
		return "CAP_PERFMON is needed";
	if (perf_event_paranoid >= PARANOID_BEYOND_PERFMON &&
	    !(permitted & CAPABILITY_BIT(CAP_SYS_ADMIN)))
		return "kernel.perf_event_paranoid is above 2, so kernels of Debian and Ubuntu "
		       "require CAP_SYS_ADMIN instead of CAP_PERFMON: run "
		       "'sysctl kernel.perf_event_paranoid=2', or add CAP_SYS_ADMIN";
	return "a container's seccomp profile or a security module forbids perf_event_open(2)";
}

const char *privileges_perf_remedy(void)
{
	uint64_t permitted = 0;

	(void)capabilities_permitted(&permitted);
	return privilege_perf_remedy(permitted, read_perf_event_paranoid());
}

int privileges_limit(void)
{
	int paranoid = read_perf_event_paranoid();
	uint64_t permitted;
	int r;

	r = capabilities_permitted(&permitted);
	if (r == 0)
		r = capabilities_limit(privileges_to_keep(permitted, paranoid));
	if (r < 0)
		return log_error_errno(
			r, "cannot give up capabilities that are not needed: %m, not starting; "
			   "--privileges.keep starts with all of them");
	if (paranoid >= PARANOID_BEYOND_PERFMON)
		log_info("kernel.perf_event_paranoid is %d, so this kernel requires CAP_SYS_ADMIN "
			 "for perf events: keeping it; after 'sysctl kernel.perf_event_paranoid=2' "
			 "the agent gives it up",
			 paranoid);
	return 0;
}
