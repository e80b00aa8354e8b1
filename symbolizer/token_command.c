/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The token is printed once and not stored. With a file, its entry is stored before the token is
 * printed, so that the server will know every printed token.
 */

#include "symbolizer/token_command.h"

#include <string.h>

#include "common/bytes.h"
#include "common/scoped.h"
#include "symbolizer/token_append.h"

/* Longest wait for another program that appends to the same file, which takes milliseconds. */
#define MAX_WAIT_NS (10 * NSEC_PER_SEC)

#define MAX_ENTRY_BYTES ((size_t)(4 * KIB))

static int parse_scopes(const char *list, unsigned int *ret_scopes,
			char ret_message[CONFIG_MESSAGE_SIZE])
{
	unsigned int scopes = 0;

	while (*list) {
		size_t length = strcspn(list, ",");
		unsigned int scope = http_scope_from_name(list, length);
		char known[HTTP_SCOPES_TEXT_SIZE];

		if (scope == 0) {
			http_scopes_format(HTTP_SCOPE_ALL, known);
			(void)snprintf(ret_message, CONFIG_MESSAGE_SIZE,
				       "--scopes: '%.*s' is none of %s",
				       (int)MIN(length, (size_t)64), list, known);
			return -EINVAL;
		}
		scopes |= scope;
		list += length;
		list += *list == ',';
	}
	if (scopes == 0) {
		(void)snprintf(ret_message, CONFIG_MESSAGE_SIZE,
			       "--make-token needs --scopes, such as --scopes read,ingest");
		return -EINVAL;
	}
	*ret_scopes = scopes;
	return 0;
}

static int check_name(const char *flag, const char *name, char ret_message[CONFIG_MESSAGE_SIZE])
{
	if (token_name_is_valid(name))
		return 0;
	(void)snprintf(ret_message, CONFIG_MESSAGE_SIZE,
		       "%s: '%.64s' must have 1 to %d letters, digits, '.', '_' or '-'", flag, name,
		       HTTP_CALLER_TEXT_SIZE - 1);
	return -EINVAL;
}

static int write_failed(char *message)
{
	(void)snprintf(message, CONFIG_MESSAGE_SIZE, "cannot write the token");
	return -EIO;
}

/* Without a file: prints the token and its entry for a person, who adds the entry to a file. */
static int print_entry(const struct token *token, const char *secret, FILE *out, char *message)
{
	scoped(bytes_release) struct bytes entry = BYTES_INIT(MAX_ENTRY_BYTES);

	if (token_entry_format(token, 2, &entry) < 0)
		return bytes_error(&entry);
	if (fprintf(out,
		    "# The token, which is kept nowhere; give it to whoever shall use it:\n%s\n\n"
		    "# Its entry, to be appended to the file of --tokens, which begins with the "
		    "line\n"
		    "# 'tokens:' (--make-token with --tokens FILE appends it):\n%.*s",
		    secret, (int)entry.size, (const char *)entry.data) < 0 ||
	    fflush(out) != 0)
		return write_failed(message);
	return 0;
}

static void print_next_steps(const struct token_request *request, unsigned int scopes, FILE *hints)
{
	char text[HTTP_SCOPES_TEXT_SIZE];

	http_scopes_format(scopes, text);
	(void)fprintf(
		hints,
		"Added token '%s' (%s) to '%s'. The file has only its hash: the line on stdout is "
		"the only copy of the token.\n"
		"A running server reads the file again within 10 s, or at once on SIGHUP; its "
		"user must be able to read the file.\n",
		request->name, text, request->path);
	if (scopes & HTTP_SCOPE_INGEST)
		(void)fprintf(hints, "Agents read the token from a file: hearth-agent --token-file "
				     "FILE\n");
	if (scopes & ~(unsigned int)HTTP_SCOPE_INGEST)
		(void)fprintf(hints, "The hearth command reads it from HEARTH_TOKEN, or from the "
				     "file that HEARTH_TOKEN_FILE or --token-file names.\n");
}

/* With a file: writes only the token to @out, so that the output can be redirected to a file or
 * a pipe. */
static int append_entry(const struct token_request *request, const struct token *token,
			const char *secret, char *message)
{
	int r = token_append(request->path, token, MAX_WAIT_NS, message);

	if (r < 0)
		return r;
	if (fprintf(request->out, "%s\n", secret) < 0 || fflush(request->out) != 0) {
		(void)snprintf(message, CONFIG_MESSAGE_SIZE,
			       "cannot write the token: remove the entry '%s' from '%.200s' and "
			       "make another",
			       request->name, request->path);
		return -EIO;
	}
	print_next_steps(request, token->scopes, request->hints);
	return 0;
}

int token_command(const struct token_request *request, char ret_message[CONFIG_MESSAGE_SIZE])
{
	char secret[TOKEN_SECRET_SIZE];
	struct token token = {};
	int r;

	r = check_name("--make-token", request->name, ret_message);
	if (r < 0)
		return r;
	r = check_name("--tenant", request->tenant, ret_message);
	if (r < 0)
		return r;
	r = parse_scopes(request->scopes, &token.scopes, ret_message);
	if (r < 0)
		return r;
	(void)snprintf(token.name, sizeof(token.name), "%s", request->name);
	(void)snprintf(token.tenant, sizeof(token.tenant), "%s", request->tenant);
	r = token_generate(secret, token.hash);
	if (r < 0) {
		(void)snprintf(ret_message, CONFIG_MESSAGE_SIZE,
			       "cannot make a token: no random numbers");
		return r;
	}
	if (*request->path)
		return append_entry(request, &token, secret, ret_message);
	return print_entry(&token, secret, request->out, ret_message);
}
