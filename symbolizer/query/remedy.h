/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds why code of a file has no name, what helps, and the shell command for it: looks up the
 * facts that the server knows in the table of remedies.def. A pure function of the facts.
 */

#include "symbolizer/query/frame_table.h"

/* remedies.def describes them. */
enum remedy_fact {
	REMEDY_FILE = 1 << 0,
	REMEDY_KERNEL = 1 << 1,
	REMEDY_MODULE = 1 << 2,
	REMEDY_ID = 1 << 3,
	REMEDY_PACKAGED = 1 << 4,
	REMEDY_UPSTREAM = 1 << 5,
	REMEDY_LACKED = 1 << 6,
	REMEDY_AGENTS = 1 << 7,
	REMEDY_ASKED = 1 << 8,
	REMEDY_LINES = 1 << 9,
};

/* Returns the facts that depend on path, role and identity alone: FILE, KERNEL, MODULE, ID,
 * PACKAGED. */
unsigned int remedy_facts_of_file(const struct store_executable *executable, const char *path,
				  bool kernel);

struct remedy_case {
	enum frame_status reason; /* not FRAME_NAMED */
	unsigned int facts;       /* enum remedy_fact */
	const char *path;         /* of the file; "": unknown */
	const char *build_id;     /* as text; "": none */
	const char *table_why;    /* why the table is missing or incomplete; "": not known */
	/* The URL that the client used, shorter than REMEDY_SERVER_SIZE. "": the command uses its
	 * default. */
	const char *server;
};

/* Room for a scheme, a host name of 253 bytes, and a port. */
#define REMEDY_SERVER_SIZE 288

/* Commands contain only the last part of a path, so that a path of 4096 bytes fits. */
#define REMEDY_COMMAND_SIZE 1024
#define REMEDY_TEXT_SIZE    512

struct remedy {
	char why[REMEDY_TEXT_SIZE];
	char remedy[REMEDY_TEXT_SIZE];     /* "": nothing helps */
	char command[REMEDY_COMMAND_SIZE]; /* for a shell; "": none */
};

void remedy_find(const struct remedy_case *about, struct remedy *ret_remedy);
