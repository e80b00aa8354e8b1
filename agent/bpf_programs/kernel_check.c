/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/bpf_programs/kernel_check.h"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/file.h"
#include "common/kernel_version.h"
#include "common/log.h"
#include "common/scoped.h"

/* Refuses kernels that may freeze when a BPF program reads user memory (kernel_version.h). */
static int refuse_freezing_kernel(const struct utsname *system)
{
	scoped(bytes_release) struct bytes signature = BYTES_INIT(4096);
	struct kernel_version version = {};
	bool known;

	if (file_read("/proc/version_signature", &signature) < 0)
		bytes_clear(&signature);
	if (bytes_append_byte(&signature, 0) < 0)
		return log_error_errno(ENOMEM, "cannot read the kernel's version: %m");
	known = kernel_version_parse(&(struct kernel_texts){ system->release, system->version,
							     (const char *)signature.data },
				     &version);
	if (!known || !kernel_version_freezes_on_user_reads(&version))
		return 0;
	return log_error_errno(
		ENOTSUP,
		"kernel '%s' is based on %u.%u.%u of kernel.org, which may freeze when a BPF "
		"program reads user memory (5.19 to 6.3; fixed in 6.1.36, 6.3.10 and 6.4): not "
		"starting; if this kernel has the fix, start with --trust_kernel=true",
		system->release, version.major, version.minor, version.patch);
}

static int refuse_unreadable_kernel(const struct utsname *system)
{
	/* AT_EACCESS checks with the effective capabilities; access() would ignore them. */
	if (faccessat(AT_FDCWD, "/sys/kernel/btf/vmlinux", R_OK, AT_EACCESS) < 0)
		return log_error_errno(
			ENOTSUP,
			"kernel '%s' has no BTF (/sys/kernel/btf/vmlinux): a kernel built with "
			"CONFIG_DEBUG_INFO_BTF is needed, not starting",
			system->release);
	if (!kernel_lets_bpf_read_memory())
		return log_error_errno(
			EPERM,
			"kernel '%s' forbids BPF programs to read kernel memory; lockdown in the "
			"mode 'confidentiality' does this (/sys/kernel/security/lockdown): not "
			"starting; the agent works in the mode 'integrity': on the kernel's "
			"command line, replace lockdown=confidentiality by lockdown=integrity, "
			"and reboot",
			system->release);
	return 0;
}

int kernel_check(const char *without, bool trust_kernel, struct kernel_features *ret_features)
{
	const char *unknown;
	struct utsname system;
	size_t length;
	int r;

	if (uname(&system) < 0)
		return log_error_errno(errno, "cannot read the kernel's version: %m");
	r = refuse_unreadable_kernel(&system);
	if (r < 0)
		return r;
	if (!kernel_features_are_known(without, &unknown, &length))
		return log_error_errno(
			EINVAL,
			"kernel.without: '%.*s' is not a kernel feature, see docs/kernels.md",
			(int)length, unknown);
	kernel_features_probe(without, ret_features);
	kernel_features_log(ret_features, system.release);
	return trust_kernel ? 0 : refuse_freezing_kernel(&system);
}
