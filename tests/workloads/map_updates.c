/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes an element of a BPF hash map with the system call in a loop, like agents that keep tables
 * in maps. During the call the kernel runs no BPF program of a perf event on this CPU.
 *
 *   map_updates [SECONDS]
 */
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spin.h"

/* Large, so that most of the time is spent in the map operation. */
#define VALUE_BYTES 16384

VISIBLE int update_element(int map_fd, uint32_t key, const void *value);

int update_element(int map_fd, uint32_t key, const void *value)
{
	union bpf_attr attr = {
		.map_fd = (uint32_t)map_fd,
		.key = (uint64_t)(uintptr_t)&key,
		.value = (uint64_t)(uintptr_t)value,
		.flags = BPF_ANY,
	};

	return (int)syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr));
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 10) : 10;
	uint64_t end_ns = clock_read_ns(CLOCK_MONOTONIC) + seconds * 1000000000u;
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_HASH,
		.key_size = sizeof(uint32_t),
		.value_size = VALUE_BYTES,
		.max_entries = 1024,
	};
	void *value = calloc(1, VALUE_BYTES);
	int map_fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
	int result = 0;

	if (map_fd < 0 || !value) {
		perror("map_updates");
		return 1;
	}
	for (uint32_t i = 0; result == 0 && clock_read_ns(CLOCK_MONOTONIC) < end_ns; i++)
		result = update_element(map_fd, i % 1024, value);
	free(value);
	return result < 0;
}
