/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds the kernel.org version on which a distribution's kernel is based, and whether this version
 * has a defect that the agent must avoid.
 *
 * `uname -r` is not enough: Debian 12's "6.1.0-50-amd64" is 6.1.176, which only `uname -v` shows,
 * and Ubuntu's "6.2.0-39-generic" is 6.2.16 according to /proc/version_signature. Pure functions of
 * these texts.
 */

#include "common/base.h"

struct kernel_texts {
	const char *release;   /* uname -r */
	const char *version;   /* uname -v */
	const char *signature; /* /proc/version_signature; "": no such file */
};

struct kernel_version {
	unsigned int major;
	unsigned int minor;
	unsigned int patch;
};

/* False: no text contains a version. */
bool kernel_version_parse(const struct kernel_texts *texts, struct kernel_version *ret_version);

/*
 * Whether bpf_probe_read_user() in an interrupt can freeze the machine: its
 * copy_from_user_nofault() takes a lock that the interrupted code may hold. Kernels 5.19 to 6.3;
 * fixed by commit d319f344561d in 6.4, 6.3.10 and 6.1.36. Returns true for a distribution that
 * backported the fix without changing the kernel.org version (see the key trust_kernel).
 */
bool kernel_version_freezes_on_user_reads(const struct kernel_version *version);
