/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Uploads one file: identifies it, asks the server whether it has an equally good file, and sends
 * the file in one request or in pieces. Repeats requests while the server cannot be reached.
 */

#include <stdatomic.h>

#include "common/executable_id.h"
#include "symbolizer/cli/client/client.h"

enum upload_outcome {
	UPLOAD_DONE,
	UPLOAD_NOT_NEEDED,
	UPLOAD_SKIPPED,
	UPLOAD_FAILED,
	UPLOAD_OUTCOME_COUNT,
};

struct upload_settings {
	bool force;                            /* also files that the server has */
	const struct executable_id *source_of; /* the files are its source files; NULL: ELF files */
	const struct executable_id *split_of;  /* NULL: the program beside PROGRAM.dwp */
	uint64_t at_once_bytes;                /* larger files are sent in pieces */
	uint64_t piece_bytes;
	uint64_t first_wait_ns; /* before the second try */
	_Atomic uint64_t *n_sent;
};

struct upload_result {
	enum upload_outcome outcome;
	uint64_t size_bytes;
	char id[EXECUTABLE_ID_TEXT_SIZE];  /* build-ID; "": none */
	char message[CLIENT_MESSAGE_SIZE]; /* the reason, unless it is UPLOAD_DONE */
};

/*
 * If a connection breaks, or the server refuses a body while the client sends it, all bytes sent
 * are lost. Below this size that is acceptable.
 */
#define UPLOAD_AT_ONCE_BYTES (8 * MIB)
#define UPLOAD_PIECE_BYTES   (64 * MIB)
#define UPLOAD_FIRST_WAIT_NS (NSEC_PER_SEC)

void upload_file(struct client *client, const struct upload_settings *settings, const char *path,
		 struct upload_result *ret_result);

/* "uploaded", "not needed", "skipped", "failed". */
const char *upload_outcome_name(enum upload_outcome outcome);
