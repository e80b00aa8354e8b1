/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The tools that `hearth mcp` offers (mcp_tools.def). A tool runs a command of hearth with options
 * made of the tool's arguments, so that its answer is the text that a user sees.
 */

#include <jansson.h>

#include "common/bytes.h"
#include "common/json_writer.h"
#include "common/vec.h"

struct mcp_tool;

/* Returns the tool, or NULL. */
const struct mcp_tool *mcp_tool_find(const char *name);

/* Writes the array of all tools, with the JSON schemas of their arguments. */
void mcp_tools_write(struct json_writer *json);

/* More rows than an assistant can use. */
#define MCP_MAX_ROWS 500

/* A longer text in an argument is refused. */
#define MCP_MAX_TEXT_BYTES 4096

#define MCP_MESSAGE_SIZE 512

/* Options of a command; the last item is NULL. The vector owns the texts. */
VEC_DEFINE(mcp_arguments, char *);

void mcp_arguments_release(struct mcp_arguments *arguments);

/*
 * Makes the command line of a call: "hearth", the command, its options. @values is the object
 * "arguments" of the call, or NULL. Returns -EINVAL and sets @ret_message if a value has another
 * type than the tool's schema says, if one is unknown, or if a required one is missing; -ENOMEM.
 */
int mcp_tool_arguments(const struct mcp_tool *tool, const json_t *values,
		       struct mcp_arguments *ret_arguments, char ret_message[MCP_MESSAGE_SIZE]);
