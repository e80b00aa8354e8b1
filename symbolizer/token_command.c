/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The token itself is printed once and kept nowhere.
 */

#include "symbolizer/token_command.h"

#include <string.h>

#include "common/hash.h"
#include "symbolizer/http/auth.h"

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

int token_command(const char *name, const char *scopes, const char *tenant, FILE *out,
		  char ret_message[CONFIG_MESSAGE_SIZE])
{
	char secret[TOKEN_SECRET_SIZE], hex[2 * TOKEN_HASH_SIZE + 1],
		scopes_text[HTTP_SCOPES_TEXT_SIZE];
	uint8_t hash[TOKEN_HASH_SIZE];
	unsigned int scope_bits;
	int r;

	r = check_name("--make-token", name, ret_message);
	if (r == 0)
		r = check_name("--tenant", tenant, ret_message);
	if (r == 0)
		r = parse_scopes(scopes, &scope_bits, ret_message);
	if (r < 0)
		return r;
	r = token_generate(secret, hash);
	if (r < 0) {
		(void)snprintf(ret_message, CONFIG_MESSAGE_SIZE,
			       "cannot make a token: no random numbers");
		return r;
	}
	hex_encode(hash, sizeof(hash), hex);
	http_scopes_format(scope_bits, scopes_text);
	if (fprintf(out,
		    "# The token, which is kept nowhere; give it to whoever shall use it:\n%s\n\n"
		    "# Its entry in the file of --tokens:\ntokens:\n  - name: %s\n    sha256: %s\n "
		    "   scopes: [%s]\n"
		    "    tenant: %s\n",
		    secret, name, hex, scopes_text, tenant) < 0 ||
	    fflush(out) != 0) {
		(void)snprintf(ret_message, CONFIG_MESSAGE_SIZE, "cannot write the token");
		return -EIO;
	}
	return 0;
}
