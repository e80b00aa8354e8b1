/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Finds the V8 that is installed. */

#include "agent/interpreter/v8/find_v8.h"
#include "agent/interpreter/v8/v8_layout.h"
#include "tests/support/unit.h"

#define NODE "/usr/bin/node"

/* The program of other packages, the library of Debian's. */
static const char *const v8_files[] = {
	NODE,
	"/usr/lib/x86_64-linux-gnu/libnode.so.108",
	"/usr/lib/aarch64-linux-gnu/libnode.so.108",
};

/* As find_v8(); -ENOENT: there is no such file. */
static inline int find_v8_in(const char *path, struct interpreter_facts *ret_facts)
{
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	scoped(elf_file_freep) struct elf_file *elf = NULL;

	if (fd < 0)
		return -ENOENT;
	assert_ok(elf_file_open(fd, &elf));
	return find_v8(elf, ret_facts);
}

/* Skips the test if no V8 with a known layout is installed. */
static inline struct interpreter_facts installed_v8(void)
{
	struct interpreter_facts facts = {};

	for (size_t i = 0; i < ARRAY_SIZE(v8_files); i++)
		if (find_v8_in(v8_files[i], &facts) == 1)
			return facts;
	skip();
	return facts;
}
