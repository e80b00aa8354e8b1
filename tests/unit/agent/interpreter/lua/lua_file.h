/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Finds the versions of Lua that are installed. */

#include "agent/interpreter/lua/find_lua.h"
#include "agent/interpreter/lua/lua_layout.h"
#include "tests/support/unit.h"

static const struct {
	const char *path;
	uint32_t version; /* without the release */
} lua_programs[] = {
	{ "/usr/bin/lua5.1", 0x0501 },
	{ "/usr/bin/lua5.2", 0x0502 },
	{ "/usr/bin/lua5.3", 0x0503 },
	{ "/usr/bin/lua5.4", 0x0504 },
};

/* As find_lua(); -ENOENT: there is no such file. */
static inline int find_lua_in(const char *path, struct interpreter_facts *ret_facts)
{
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	scoped(elf_file_freep) struct elf_file *elf = NULL;

	if (fd < 0)
		return -ENOENT;
	assert_ok(elf_file_open(fd, &elf));
	return find_lua(elf, ret_facts);
}
