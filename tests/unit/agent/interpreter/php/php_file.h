/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Finds the PHP that is installed. */

#include "agent/interpreter/php/find_php.h"
#include "agent/interpreter/php/php_layout.h"
#include "tests/support/unit.h"

#define PHP "/usr/bin/php"

/* As find_php(); -ENOENT: there is no such file. */
static inline int find_php_in(const char *path, struct interpreter_facts *ret_facts)
{
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	scoped(elf_file_freep) struct elf_file *elf = NULL;

	if (fd < 0)
		return -ENOENT;
	assert_ok(elf_file_open(fd, &elf));
	return find_php(elf, ret_facts);
}

/* Skips the test if no PHP with a known layout is installed. */
static inline struct interpreter_facts installed_php(void)
{
	struct interpreter_facts facts = {};

	if (find_php_in(PHP, &facts) != 1 || !php_layout_of(facts.version))
		skip();
	return facts;
}
