/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A program with marked instructions in functions with source lines, and samples at the marks. */

#include "tests/unit/symbolizer/query/profile_fixture.h"

/* The marks are at line 13, at line 14, and in helper(), which is inlined at line 15. */
static const char source_c[] = "volatile int sink;\n"
			       "static inline __attribute__((always_inline)) void helper(void)\n"
			       "#line 3 \"/src/work.c\"\n"
			       "{ __asm__ volatile(\".globl mark3\\nmark3: nop\\n nop\"); }\n"
			       "#line 11 \"/src/work.c\"\n"
			       "void __attribute__((noinline)) serve(void)\n"
			       "{\n"
			       "	__asm__ volatile(\".globl mark1\\nmark1: nop\\n nop\");\n"
			       "	__asm__ volatile(\".globl mark2\\nmark2: nop\\n nop\");\n"
			       "	helper();\n"
			       "}\n"
			       "void _start(void) { serve(); serve(); }\n";

struct marks {
	unsigned long long at[3];
	unsigned long long start; /* of _start, which begins with a call of serve() */
};

static inline void add_program(struct fixture *fixture, struct marks *ret_marks)
{
	scoped(bytes_release) struct bytes output = BYTES_INIT(COMMAND_OUTPUT_BYTES);
	scoped_free char *path = path_in(fixture->folder, "work");
	char command[1024];

	free(write_file_in(fixture->folder, "work.c", source_c, strlen(source_c)));
	(void)snprintf(command, sizeof(command),
		       "gcc -O1 -g -nostdlib -static -o %s %s.c 2>&1 &&"
		       " nm %s | sort -k 3 | sed -n 's/ . \\(_start\\|mark[123]\\)$//p'",
		       path, path, path);
	assert_int_equal(command_output(command, &output), 0);
	assert_ok(bytes_append_byte(&output, 0));
	assert_int_equal(sscanf((const char *)output.data, "%llx %llx %llx %llx", &ret_marks->start,
				&ret_marks->at[0], &ret_marks->at[1], &ret_marks->at[2]),
			 4);
	fake_debuginfo_put(&fixture->debuginfo, &fixture->executables[EXE_LIB - 1].identity, path);
}

/*
 *   stack 1   1 row   line 13
 *   stack 2   2 rows  the kernel, called by line 13
 *   stack 3   4 rows  line 14, called by line 13, called by line 13
 *   stack 4   8 rows  helper() at line 3, inlined at line 15
 *   stack 5  16 rows  another function
 */
static inline void add_samples(struct fixture *fixture, struct marks *ret_marks)
{
	static const struct fake_row rows[] = {
		{ 1, 1, T0, 1 }, { 1, 2, T0, 2 },  { 1, 3, T0, 4 },
		{ 1, 4, T0, 8 }, { 1, 5, T0, 16 },
	};
	char frames[5][200];
	const unsigned long long *at = ret_marks->at;
	struct stack_text stacks[] = {
		{ 1, 0, frames[0] }, { 2, 0, frames[1] }, { 3, 0, frames[2] },
		{ 4, 0, frames[3] }, { 5, 0, frames[4] },
	};

	add_program(fixture, ret_marks);
	(void)snprintf(frames[0], sizeof(frames[0]), "native:lib:%#llx native:app:0x1110", at[0]);
	(void)snprintf(frames[1], sizeof(frames[1]), "kernel:kernel:0x110 native:lib:%#llx", at[0]);
	(void)snprintf(frames[2], sizeof(frames[2]),
		       "native:lib:%#llx native:lib:%#llx native:lib:%#llx", at[1], at[0], at[0]);
	(void)snprintf(frames[3], sizeof(frames[3]), "native:lib:%#llx", at[2]);
	(void)snprintf(frames[4], sizeof(frames[4]), "native:app:0x1410 native:app:0x1110");
	FAKE_SAMPLES(fixture, on_cpu_series, stacks, rows);
}
