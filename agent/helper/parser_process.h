/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The helper that parses files: ELF headers, notes, sections. It runs as nobody, without capabilities, in a sandbox
 * (common/sandbox.h): it can read and write the descriptors that it is given, and calculate. A file may make it crash,
 * hang or use up its limits; what it answers is checked like the file itself.
 */

#include <sys/types.h>

/* So much CPU time ends it (SIGXCPU): a client replaces it before. */
#define PARSER_CPU_S 60

/* Serves @socket until it is closed. @name: of the process. */
_Noreturn void parser_process_run(int socket, pid_t parent, const char *name);
