/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Finds the Perl that is installed. */

#include "agent/interpreter/perl/find_perl.h"
#include "agent/interpreter/perl/perl_layout.h"
#include "tests/support/unit.h"

#define PERL "/usr/bin/perl"

/* As find_perl(); -ENOENT: there is no such file. */
static inline int find_perl_in(const char *path, struct interpreter_facts *ret_facts)
{
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	scoped(elf_file_freep) struct elf_file *elf = NULL;

	if (fd < 0)
		return -ENOENT;
	assert_ok(elf_file_open(fd, &elf));
	return find_perl(elf, ret_facts);
}

/* Skips the test if no Perl with a known layout is installed. */
static inline struct interpreter_facts installed_perl(void)
{
	struct interpreter_facts facts = {};

	if (find_perl_in(PERL, &facts) != 1 || !perl_layout_of(facts.version))
		skip();
	return facts;
}
