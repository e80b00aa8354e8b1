/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel reports the memory that it charges for a map in /proc/self/fdinfo. */
#include "tests/bench/array_map.h"

#include <inttypes.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "common/scoped.h"

static uint64_t memlock_of(int fd)
{
	scoped_file FILE *info = NULL;
	uint64_t bytes = 0;
	char text[64];

	(void)snprintf(text, sizeof(text), "/proc/self/fdinfo/%d", fd);
	info = fopen(text, "re");
	while (info && fgets(text, sizeof(text), info)) {
		if (sscanf(text, "memlock: %" SCNu64, &bytes) == 1)
			break;
	}
	return bytes;
}

uint64_t array_map_bytes(uint32_t n_rows)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1
	};
	scoped_fd int fd = -1;

	while (attr.max_entries < n_rows)
		attr.max_entries *= 2;
	fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
	return fd < 0 ? 0 : memlock_of(fd);
}
