/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Loads the input as a configuration file with a key of every type.
 */

#include <stdio.h>
#include <sys/mman.h>

#include "common/config.h"
#include "common/file.h"
#include "common/scoped.h"

struct fuzz_config {
	bool disabled;
	uint64_t frequency;
	uint64_t interval_ns;
	uint64_t memory_bytes;
	char *regex;
	char *hosts;
};

#define FIELD(name) offsetof(struct fuzz_config, name)

static const struct config_key keys[] = {
	{ "on_cpu.disabled", CONFIG_BOOL, FIELD(disabled), "no", 0, 0, "" },
	{ "on_cpu.frequency", CONFIG_UINT, FIELD(frequency), "99", 1, 1000, "" },
	{ "interval", CONFIG_DURATION, FIELD(interval_ns), "5s", 1, 0, "" },
	{ "memory", CONFIG_SIZE, FIELD(memory_bytes), "32MiB", 0, 0, "" },
	{ "on_cpu.regex", CONFIG_TEXT, FIELD(regex), ".*", 0, 0, "" },
	{ "hosts", CONFIG_LIST, FIELD(hosts), "a,b", 0, 0, "" },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct config_table table = { keys, ARRAY_SIZE(keys), "FUZZ_" };
	scoped_fd int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct fuzz_config config = {};
	char message[CONFIG_MESSAGE_SIZE];
	char path[64];

	if (fd < 0 || write_all(fd, data, size) < 0 || config_set_defaults(&table, &config) < 0)
		return 0;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	(void)config_load_file(&table, path, &config, message);
	config_release(&table, &config);
	return 0;
}
