/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Why code of a file has no name, what helps, and the command to type: the table of remedies.def,
 * applied to what the server knows. A pure function of the facts.
 */

#include "symbolizer/query/frame_table.h"

/* See remedies.def. */
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

/* The facts that path, role and identity alone decide: FILE, KERNEL, MODULE, ID, PACKAGED. */
unsigned int remedy_facts_of_file(const struct store_executable *executable, const char *path,
				  bool kernel);

struct remedy_case {
	enum frame_status reason; /* not FRAME_NAMED */
	unsigned int facts;       /* enum remedy_fact */
	const char *path;         /* of the file; "" not known */
	const char *build_id;     /* as text; "" none */
	const char *table_why;    /* why no table could be made, or what it lacks; "" */
	/* the server's URL as its client knows it, in less than REMEDY_SERVER_SIZE bytes; "": the
	 * command's default */
	const char *server;
};

/* A scheme, a host's name of 253 bytes, and a port. */
#define REMEDY_SERVER_SIZE 288

/* A path of 4096 bytes is not worth a command: only its last part is in it. */
#define REMEDY_COMMAND_SIZE 1024
#define REMEDY_TEXT_SIZE    512

struct remedy {
	char why[REMEDY_TEXT_SIZE];
	char remedy[REMEDY_TEXT_SIZE];     /* "": nothing helps */
	char command[REMEDY_COMMAND_SIZE]; /* for a shell; "": none */
};

void remedy_find(const struct remedy_case *about, struct remedy *ret_remedy);
