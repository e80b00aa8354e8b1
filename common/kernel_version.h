/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The version of kernel.org that a distribution's kernel is made of, and the one defect that it
 * decides about.
 *
 * `uname -r` says less than it seems: Debian 12's "6.1.0-50-amd64" is 6.1.176 and says so in `uname
 * -v` only, Ubuntu's "6.2.0-39-generic" is 6.2.16 by /proc/version_signature. Pure functions of
 * these texts.
 */

#include "common/base.h"

struct kernel_texts {
	const char *release;   /* uname -r */
	const char *version;   /* uname -v */
	const char *signature; /* /proc/version_signature; "" where there is none */
};

struct kernel_version {
	unsigned int major;
	unsigned int minor;
	unsigned int patch;
};

/* False: no text holds a version. */
bool kernel_version_parse(const struct kernel_texts *texts, struct kernel_version *ret_version);

/*
 * Whether bpf_probe_read_user() in an interrupt can freeze the machine: its
 * copy_from_user_nofault() takes a lock that the interrupted code may hold. Kernels 5.19 to 6.3;
 * repaired by commit d319f344561d in 6.4, 6.3.10 and 6.1.36. Of a distribution that repairs without
 * changing the version of kernel.org this says true (see the key trust_kernel).
 */
bool kernel_version_freezes_on_user_reads(const struct kernel_version *version);
