/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library for LD_PRELOAD: uname() reports Linux 6.1.20, which the agent refuses
 * (common/kernel_version.h).
 */
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

int uname(struct utsname *system)
{
	if (syscall(SYS_uname, system) < 0)
		return -1;
	(void)memcpy(system->release, "6.1.20", sizeof("6.1.20"));
	(void)memcpy(system->version, "#1 SMP", sizeof("#1 SMP"));
	return 0;
}
