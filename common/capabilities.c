/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the system calls capget(2) and capset(2) directly, which saves the dependency on libcap.
 */

#include "common/capabilities.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's version 3 splits each set into two words. */
#define WORDS _LINUX_CAPABILITY_U32S_3

static int read_sets(struct __user_cap_data_struct sets[WORDS])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &header, sets) < 0 ? -errno : 0;
}

int capabilities_permitted(uint64_t *ret_mask)
{
	struct __user_cap_data_struct sets[WORDS];
	int r = read_sets(sets);

	if (r < 0)
		return r;
	*ret_mask = sets[0].permitted | (uint64_t)sets[1].permitted << 32;
	return 0;
}

/*
 * Drops all capabilities outside @keep from the bounding set, which limits the capabilities that a
 * program can get by execve(2). Needs CAP_SETPCAP.
 */
static void limit_bounding_set(uint64_t keep)
{
	for (unsigned long number = 0; number < 64; number++) {
		if (keep & CAPABILITY_BIT(number))
			continue;
		/* EINVAL: the kernel has no capability with this number or a higher one. */
		if (prctl(PR_CAPBSET_DROP, number, 0, 0, 0) < 0)
			return;
	}
}

int capabilities_limit(uint64_t keep)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[WORDS];
	int r;

	limit_bounding_set(keep);
	/* Kernels before 4.3 have no ambient set. */
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	r = read_sets(sets);
	if (r < 0)
		return r;
	for (unsigned int i = 0; i < WORDS; i++) {
		sets[i].permitted &= (uint32_t)(keep >> (32 * i));
		sets[i].effective = sets[i].permitted;
		sets[i].inheritable = 0;
	}
	return syscall(SYS_capset, &header, sets) < 0 ? -errno : 0;
}
