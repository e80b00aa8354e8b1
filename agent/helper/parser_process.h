/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The helper that parses files: ELF headers, notes and sections. It runs as the user nobody, without capabilities, in a
 * sandbox (common/sandbox.h) in which it can only compute, and read and write the descriptors that it receives. A
 * hostile file may crash it, make it hang or use up its limits, or take it over: the agent checks its answers as
 * foreign input.
 */

#include <sys/types.h>

/* CPU time after which the kernel ends it (SIGXCPU). helper_pool.c replaces it before that. */
#define PARSER_CPU_S 60

/* Answers requests from @socket until its other end is closed. @parent: the nursery. @name: of the process. */
_Noreturn void parser_process_run(int socket, pid_t parent, const char *name);
