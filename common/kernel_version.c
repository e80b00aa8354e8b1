/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts that distributions use for the version of their kernel:
 *
 *   Debian's `uname -v`                  #1 SMP PREEMPT_DYNAMIC Debian 6.1.176-1 (2026-08-01)
 *   Ubuntu's /proc/version_signature     Ubuntu 6.2.0-39.40~22.04.1-generic 6.2.16
 */

#include "common/kernel_version.h"

#include <stdio.h>
#include <string.h>

#define DEBIAN_MARK " Debian "

static bool read_numbers(const char *text, int least, struct kernel_version *ret_version)
{
	struct kernel_version version = {};

	if (sscanf(text, "%5u.%5u.%5u", &version.major, &version.minor, &version.patch) < least)
		return false;
	*ret_version = version;
	return true;
}

bool kernel_version_parse(const struct kernel_texts *texts, struct kernel_version *ret_version)
{
	const char *last_word = strrchr(texts->signature, ' ');
	const char *debian = strstr(texts->version, DEBIAN_MARK);

	if (last_word && read_numbers(last_word + 1, 3, ret_version))
		return true;
	if (debian && read_numbers(debian + strlen(DEBIAN_MARK), 2, ret_version))
		return true;
	return read_numbers(texts->release, 2, ret_version);
}

bool kernel_version_freezes_on_user_reads(const struct kernel_version *version)
{
	if (version->major == 5)
		return version->minor == 19;
	if (version->major != 6)
		return false;
	switch (version->minor) {
	case 0:
	case 2:
		return true;
	case 1:
		return version->patch < 36;
	case 3:
		return version->patch < 10;
	default:
		return false;
	}
}
