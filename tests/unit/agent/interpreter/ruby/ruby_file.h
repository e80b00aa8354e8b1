/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Finds the CRuby that is installed. */

#include "agent/interpreter/ruby/find_ruby.h"
#include "agent/interpreter/ruby/ruby_layout.h"
#include "tests/support/unit.h"

#define RUBY         "/usr/bin/ruby3.1"
#define RUBY_LIBRARY "/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1"

/* As find_ruby(); the test is skipped if there is no such file. */
static inline int find_ruby_in(const char *path, struct interpreter_facts *ret_facts)
{
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	scoped(elf_file_freep) struct elf_file *elf = NULL;

	if (fd < 0)
		skip();
	assert_ok(elf_file_open(fd, &elf));
	return find_ruby(elf, ret_facts);
}
