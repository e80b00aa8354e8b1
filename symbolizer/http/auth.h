/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tokens, and the check of a request's token.
 *
 * A token gives its holder scopes (message.h) in one tenant. The server stores only the SHA-256
 * hash of a token, so that a copy of the tokens file gives nobody access:
 *
 *   tokens:
 *     - name: agents
 *       sha256: 5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef
 *       scopes: [ingest]
 *       tenant: default        # optional
 *
 * A hash without salt is enough, because a token has 256 random bits and cannot be guessed.
 *
 * struct auth holds the tokens of a running server. auth_load() replaces them while requests are
 * served. All its functions are thread-safe.
 */

#include "common/bytes.h"
#include "symbolizer/http/message.h"

#define TOKEN_HASH_SIZE     32
#define AUTH_MESSAGE_SIZE   512
#define AUTH_DEFAULT_TENANT "default"

struct token {
	char name[HTTP_CALLER_TEXT_SIZE];
	char tenant[HTTP_CALLER_TEXT_SIZE];
	unsigned int scopes;
	uint8_t hash[TOKEN_HASH_SIZE];
};

struct token_set {
	struct token *items;
	size_t count;
	size_t capacity;
};

void token_set_release(struct token_set *set);

/*
 * Parses the text of a tokens file. @source names the file in messages. Returns 0, -ENOMEM, or
 * -EINVAL with "'SOURCE':LINE:COLUMN: ..." in @ret_message. @ret_set is untouched on failure.
 */
int token_set_parse(struct bytes_view text, const char *source, struct token_set *ret_set,
		    char ret_message[AUTH_MESSAGE_SIZE]);

/*
 * Returns the token with the hash of the @length bytes of @secret, or NULL. The duration depends
 * neither on which token matches nor on the number of equal hash bytes.
 */
const struct token *token_set_find(const struct token_set *set, const char *secret, size_t length);

/* Generates a secret from the system's random number generator, and its hash. Returns 0 or -EIO. */
#define TOKEN_SECRET_SIZE (sizeof("hearth_") + 64)
int token_generate(char ret_secret[TOKEN_SECRET_SIZE], uint8_t ret_hash[TOKEN_HASH_SIZE]);

/* Returns whether @name can name a token or a tenant: 1 to 63 letters, digits, '.', '_' or '-'. */
bool token_name_is_valid(const char *name);

struct auth;

/* Without tokens, every caller has all scopes. Returns 0 or -ENOMEM. */
int auth_new(struct auth **ret_auth);
struct auth *auth_free(struct auth *auth);

/* Replaces the tokens by those in the file at @path. On failure the current tokens stay, and
 * @ret_message names the file, the cause and the remedy. */
int auth_load(struct auth *auth, const char *path, char ret_message[AUTH_MESSAGE_SIZE]);

bool auth_has_tokens(struct auth *auth);

enum auth_result {
	AUTH_OK,
	AUTH_MISSING,   /* no Authorization header */
	AUTH_MALFORMED, /* not "Bearer TOKEN" */
	AUTH_UNKNOWN,   /* the token is not in the tokens file */
};

/* Checks the value of the Authorization header; NULL if the request has none. Fills @ret_caller
 * on AUTH_OK. */
enum auth_result auth_check(struct auth *auth, const char *authorization,
			    struct http_caller *ret_caller);

#include "common/scoped.h"
DEFINE_SCOPED(struct auth *, auth_free);
