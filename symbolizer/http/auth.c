/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The secret that a client presents is hashed. The hash is compared with the hash of every known
 * token, without an early return, so that the time of the search reveals nothing about the tokens.
 */

#include "symbolizer/http/auth.h"

#include <ctype.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <pthread.h>
#include <stdio.h>
#include <strings.h>

#include "common/file.h"
#include "common/hash.h"

/* 1024 tokens (MAX_TOKENS) of about 200 bytes each. */
#define MAX_TOKENS_FILE_BYTES (256 * KIB)

#define TOKEN_PREFIX       "hearth_"
#define TOKEN_RANDOM_BYTES 32

struct auth {
	pthread_rwlock_t lock;
	struct token_set set;
	bool has_tokens;
};

void token_set_release(struct token_set *set)
{
	free(set->items);
	*set = (struct token_set){};
}

bool token_name_is_valid(const char *name)
{
	size_t length = strlen(name);

	if (length == 0 || length >= HTTP_CALLER_TEXT_SIZE)
		return false;
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i]))
			return false;
	return true;
}

static int hash_secret(const char *secret, size_t length, uint8_t ret_hash[TOKEN_HASH_SIZE])
{
	return gnutls_hash_fast(GNUTLS_DIG_SHA256, secret, length, ret_hash) == 0 ? 0 : -EIO;
}

const struct token *token_set_find(const struct token_set *set, const char *secret, size_t length)
{
	const struct token *found = NULL;
	uint8_t hash[TOKEN_HASH_SIZE];

	if (hash_secret(secret, length, hash) < 0)
		return NULL;
	for (size_t i = 0; i < set->count; i++)
		if (gnutls_memcmp(hash, set->items[i].hash, TOKEN_HASH_SIZE) == 0)
			found = &set->items[i];
	return found;
}

int token_generate(char ret_secret[TOKEN_SECRET_SIZE], uint8_t ret_hash[TOKEN_HASH_SIZE])
{
	uint8_t random[TOKEN_RANDOM_BYTES];

	if (gnutls_rnd(GNUTLS_RND_KEY, random, sizeof(random)) != 0)
		return -EIO;
	memcpy(ret_secret, TOKEN_PREFIX, strlen(TOKEN_PREFIX));
	hex_encode(random, sizeof(random), ret_secret + strlen(TOKEN_PREFIX));
	return hash_secret(ret_secret, strlen(ret_secret), ret_hash);
}

int auth_new(struct auth **ret_auth)
{
	struct auth *auth = calloc(1, sizeof(*auth));

	if (!auth)
		return -ENOMEM;
	if (pthread_rwlock_init(&auth->lock, NULL) != 0) {
		free(auth);
		return -ENOMEM;
	}
	*ret_auth = auth;
	return 0;
}

struct auth *auth_free(struct auth *auth)
{
	if (!auth)
		return NULL;
	token_set_release(&auth->set);
	(void)pthread_rwlock_destroy(&auth->lock);
	free(auth);
	return NULL;
}

int auth_load(struct auth *auth, const char *path, char ret_message[AUTH_MESSAGE_SIZE])
{
	struct bytes text = BYTES_INIT(MAX_TOKENS_FILE_BYTES);
	struct token_set set = {}, old;
	int r;

	r = file_read(path, &text);
	if (r < 0)
		(void)snprintf(ret_message, AUTH_MESSAGE_SIZE,
			       "cannot read tokens file '%.150s': %s; hearth-symbolizer --tokens "
			       "%.150s --make-token NAME --scopes read creates it",
			       path, strerror(-r), path);
	else
		r = token_set_parse(bytes_view_of(&text), path, &set, ret_message);
	bytes_release(&text);
	if (r < 0)
		return r;

	(void)pthread_rwlock_wrlock(&auth->lock);
	old = auth->set;
	auth->set = set;
	auth->has_tokens = true;
	(void)pthread_rwlock_unlock(&auth->lock);
	token_set_release(&old);
	return 0;
}

bool auth_has_tokens(struct auth *auth)
{
	bool has_tokens;

	(void)pthread_rwlock_rdlock(&auth->lock);
	has_tokens = auth->has_tokens;
	(void)pthread_rwlock_unlock(&auth->lock);
	return has_tokens;
}

/* Returns the secret in "Bearer SECRET", or NULL if the header has another form. */
static const char *bearer_secret(const char *authorization, size_t *ret_length)
{
	static const char scheme[] = "Bearer";
	const char *secret = authorization + strlen(scheme);

	if (strncasecmp(authorization, scheme, strlen(scheme)) != 0 || *secret != ' ')
		return NULL;
	secret += strspn(secret, " ");
	*ret_length = strcspn(secret, " ");
	return *ret_length > 0 && secret[*ret_length] == '\0' ? secret : NULL;
}

static enum auth_result check_token(const struct token_set *set, const char *authorization,
				    struct http_caller *ret_caller)
{
	const struct token *token;
	const char *secret;
	size_t length;

	if (!authorization)
		return AUTH_MISSING;
	secret = bearer_secret(authorization, &length);
	if (!secret)
		return AUTH_MALFORMED;
	token = token_set_find(set, secret, length);
	if (!token)
		return AUTH_UNKNOWN;

	*ret_caller = (struct http_caller){ .scopes = token->scopes };
	memcpy(ret_caller->name, token->name, sizeof(ret_caller->name));
	memcpy(ret_caller->tenant, token->tenant, sizeof(ret_caller->tenant));
	return AUTH_OK;
}

enum auth_result auth_check(struct auth *auth, const char *authorization,
			    struct http_caller *ret_caller)
{
	enum auth_result result = AUTH_OK;

	(void)pthread_rwlock_rdlock(&auth->lock);
	if (auth->has_tokens)
		result = check_token(&auth->set, authorization, ret_caller);
	else
		*ret_caller = (struct http_caller){
			.tenant = AUTH_DEFAULT_TENANT,
			.scopes = HTTP_SCOPE_ALL,
			.anonymous = true,
		};
	(void)pthread_rwlock_unlock(&auth->lock);
	return result;
}
