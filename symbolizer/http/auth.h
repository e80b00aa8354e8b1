/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tokens: who may do what. The server keeps SHA-256 hashes only, so that the file holds nothing
 * that lets anybody in.
 *
 *   tokens:
 *     - name: agents
 *       sha256: 5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef
 *       scopes: [ingest]
 *       tenant: default        # optional
 *
 * A plain hash without salt is enough: a token is 256 random bits, not a word that could be
 * guessed.
 *
 * struct auth is what the server asks; its set of tokens can be replaced while it runs.
 * Thread-safe.
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
 * Parses a tokens file; @source is shown in messages. -EINVAL with "'SOURCE':LINE:COLUMN: ..." in
 * @ret_message, or -ENOMEM. @ret_set is untouched on failure.
 */
int token_set_parse(struct bytes_view text, const char *source, struct token_set *ret_set,
		    char ret_message[AUTH_MESSAGE_SIZE]);

/*
 * The token whose hash is that of the @length bytes of @secret, or NULL. The time does not depend
 * on which token it is nor on how much of a hash agrees.
 */
const struct token *token_set_find(const struct token_set *set, const char *secret, size_t length);

/* A new secret from the system's randomness, and its hash. */
#define TOKEN_SECRET_SIZE (sizeof("hearth_") + 64)
int token_generate(char ret_secret[TOKEN_SECRET_SIZE], uint8_t ret_hash[TOKEN_HASH_SIZE]);

/* Letters, digits, '.', '_', '-'; 1 to 63 of them: for names of tokens and tenants. */
bool token_name_is_valid(const char *name);

struct auth;

/* Starts without tokens: everybody may do everything. */
int auth_new(struct auth **ret_auth);
struct auth *auth_free(struct auth *auth);

/* Replaces the tokens by those of the file at @path. On failure the old ones stay, and @ret_message
 * says why. */
int auth_load(struct auth *auth, const char *path, char ret_message[AUTH_MESSAGE_SIZE]);

bool auth_has_tokens(struct auth *auth);

enum auth_result {
	AUTH_OK,
	AUTH_MISSING,   /* no Authorization header */
	AUTH_MALFORMED, /* not "Bearer TOKEN" */
	AUTH_UNKNOWN,   /* no such token */
};

/* @authorization: the header's value, or NULL. Fills @ret_caller on AUTH_OK. */
enum auth_result auth_check(struct auth *auth, const char *authorization,
			    struct http_caller *ret_caller);

#include "common/scoped.h"
DEFINE_SCOPED(struct auth *, auth_free);
