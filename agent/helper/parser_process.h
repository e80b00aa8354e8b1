/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The helper that parses ELF headers, notes and sections for identities, unwind tables and uploads.
 * It runs as the user nobody, without capabilities, in a sandbox (common/sandbox.h) in which it can
 * only compute, and read and write the descriptors that it receives. A hostile file may crash it,
 * make it hang, exhaust its limits, or take control of it. Therefore the agent checks its answers
 * like any untrusted input.
 */

#include <sys/types.h>

#include "common/base.h"

/* CPU time after which the kernel ends it (SIGXCPU). helper_pool.c replaces it before that. */
#define PARSER_CPU_S 60

/* If a limit is exceeded, an allocation fails, or the kernel ends the process. */
struct parser_limits {
	uint64_t address_space_bytes;
	uint64_t written_bytes; /* of an unwind table or an extract */
	uint64_t cpu_s;
};

/* The limits of the nursery's parsers. */
extern const struct parser_limits parser_limits;

/*
 * Answers requests from @socket until its other end is closed. @parent: the nursery. @name: process
 * name.
 */
_Noreturn void parser_process_run(int socket, pid_t parent, const char *name,
				  const struct parser_limits *limits);
