/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The server side of the Model Context Protocol (modelcontextprotocol.io/specification, 2024-11-05
 * to 2025-11-25) with one capability, tools: an assistant lists and calls them. Messages are those
 * of JSON-RPC 2.0, one line each. The session has no state: each call names all that it needs.
 */

#include "common/bytes.h"
#include "symbolizer/cli/mcp/command_output.h"

/* A longer message is refused. */
#define MCP_MAX_MESSAGE_BYTES MIB

struct mcp_session {
	/* Runs a command: command_output_run(), or another function in tests. */
	int (*run)(char *const *arguments, struct command_output *ret_output);
};

/*
 * Appends the answer to @message as a line. Appends nothing if @message is a notification or an
 * answer. Faults of the message are in the answer. Returns 0 or -ENOMEM.
 */
int mcp_session_answer(const struct mcp_session *session, struct bytes_view message,
		       struct bytes *out);
