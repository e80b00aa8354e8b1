/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Parser of the tokens file. A mistake in the file must never grant access: every key must be
 * known, every token complete, and a file without tokens is an error.
 */

#include "symbolizer/http/auth.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <yaml.h>

#include "common/hash.h"
#include "common/vec.h"

#define MAX_TOKENS 1024

struct token_file {
	yaml_document_t *document;
	const char *source;
	char *message;
};

printf_like(3, 4) static int refuse(struct token_file *file, const yaml_node_t *node,
				    const char *format, ...)
{
	va_list args;
	int used;

	used = snprintf(file->message, AUTH_MESSAGE_SIZE, "'%s':%zu:%zu: ", file->source,
			node ? node->start_mark.line + 1 : 1,
			node ? node->start_mark.column + 1 : 1);
	if (used < 0 || used >= AUTH_MESSAGE_SIZE)
		return -EINVAL;
	va_start(args, format);
	(void)vsnprintf(file->message + used, (size_t)(AUTH_MESSAGE_SIZE - used), format, args);
	va_end(args);
	return -EINVAL;
}

/* Returns the text of a scalar, or NULL for any other node. A scalar that contains NUL is
 * refused, because libyaml's text ends at NUL. */
static const char *scalar_text(const yaml_node_t *node)
{
	if (!node || node->type != YAML_SCALAR_NODE)
		return NULL;
	if (strlen((const char *)node->data.scalar.value) != node->data.scalar.length)
		return NULL;
	return (const char *)node->data.scalar.value;
}

static int read_name(struct token_file *file, const yaml_node_t *node,
		     char ret_name[HTTP_CALLER_TEXT_SIZE])
{
	const char *text = scalar_text(node);

	if (!text || !token_name_is_valid(text))
		return refuse(file, node, "a name has 1 to %d letters, digits, '.', '_' or '-'",
			      HTTP_CALLER_TEXT_SIZE - 1);
	memcpy(ret_name, text, strlen(text) + 1);
	return 0;
}

static int read_hash(struct token_file *file, const yaml_node_t *node,
		     uint8_t ret_hash[TOKEN_HASH_SIZE])
{
	const char *text = scalar_text(node);

	if (!text || strlen(text) != 2 * TOKEN_HASH_SIZE ||
	    hex_decode(text, strlen(text), ret_hash, TOKEN_HASH_SIZE) != TOKEN_HASH_SIZE)
		return refuse(file, node, "sha256 must be the %d hex digits of the token's SHA-256",
			      2 * TOKEN_HASH_SIZE);
	return 0;
}

static int read_scopes(struct token_file *file, const yaml_node_t *node, unsigned int *ret_scopes)
{
	unsigned int scopes = 0;

	if (node->type != YAML_SEQUENCE_NODE)
		return refuse(file, node, "scopes must be a list, such as [read, upload]");
	for (yaml_node_item_t *item = node->data.sequence.items.start;
	     item < node->data.sequence.items.top; item++) {
		const yaml_node_t *scope = yaml_document_get_node(file->document, *item);
		const char *text = scalar_text(scope);
		unsigned int bit = text ? http_scope_from_name(text, strlen(text)) : 0;

		if (bit == 0) {
			char known[HTTP_SCOPES_TEXT_SIZE];

			http_scopes_format(HTTP_SCOPE_ALL, known);
			return refuse(file, scope, "unknown scope '%.32s'; the scopes are %s",
				      text ? text : "", known);
		}
		scopes |= bit;
	}
	*ret_scopes = scopes;
	return 0;
}

static int read_key(struct token_file *file, const yaml_node_t *key, const yaml_node_t *value,
		    struct token *token, bool *has_hash)
{
	const char *name = scalar_text(key);

	if (name && strcmp(name, "name") == 0)
		return read_name(file, value, token->name);
	if (name && strcmp(name, "tenant") == 0)
		return read_name(file, value, token->tenant);
	if (name && strcmp(name, "scopes") == 0)
		return read_scopes(file, value, &token->scopes);
	if (name && strcmp(name, "sha256") == 0) {
		*has_hash = true;
		return read_hash(file, value, token->hash);
	}
	return refuse(file, key, "unknown key '%.32s'; a token has name, sha256, scopes and tenant",
		      name ? name : "");
}

static int check_unique(struct token_file *file, const yaml_node_t *node,
			const struct token_set *set, const struct token *token)
{
	for (size_t i = 0; i < set->count; i++) {
		if (strcmp(set->items[i].name, token->name) == 0)
			return refuse(file, node, "a second token is named '%s'", token->name);
		if (memcmp(set->items[i].hash, token->hash, TOKEN_HASH_SIZE) == 0)
			return refuse(file, node, "token '%s' has the same sha256 as '%s'",
				      token->name, set->items[i].name);
	}
	return 0;
}

static int read_token(struct token_file *file, const yaml_node_t *node, struct token_set *set)
{
	struct token token = { .tenant = AUTH_DEFAULT_TENANT };
	bool has_hash = false;
	int r;

	if (node->type != YAML_MAPPING_NODE)
		return refuse(file, node, "a token must be a map with name, sha256 and scopes");
	for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	     pair < node->data.mapping.pairs.top; pair++) {
		r = read_key(file, yaml_document_get_node(file->document, pair->key),
			     yaml_document_get_node(file->document, pair->value), &token,
			     &has_hash);
		if (r < 0)
			return r;
	}
	if (!token.name[0] || !has_hash || token.scopes == 0)
		return refuse(file, node, "a token needs name, sha256 and at least one scope");

	r = check_unique(file, node, set, &token);
	if (r < 0)
		return r;
	if (set->count == MAX_TOKENS)
		return refuse(file, node, "more than %d tokens", MAX_TOKENS);
	return vec_push(set, token);
}

/* Finds the sequence of the only key "tokens" of the document. */
static int find_list(struct token_file *file, const yaml_node_t **ret_list)
{
	const yaml_node_t *root = yaml_document_get_root_node(file->document);
	const yaml_node_pair_t *pair;
	const yaml_node_t *list;
	const char *key;

	if (!root || root->type != YAML_MAPPING_NODE ||
	    root->data.mapping.pairs.top - root->data.mapping.pairs.start != 1)
		return refuse(file, root, "expected one key 'tokens' with a list of tokens");

	pair = root->data.mapping.pairs.start;
	key = scalar_text(yaml_document_get_node(file->document, pair->key));
	list = yaml_document_get_node(file->document, pair->value);
	if (!key || strcmp(key, "tokens") != 0 || list->type != YAML_SEQUENCE_NODE)
		return refuse(file, root, "expected one key 'tokens' with a list of tokens");
	if (list->data.sequence.items.start == list->data.sequence.items.top)
		return refuse(file, list, "the list of tokens is empty: nobody would have access");
	*ret_list = list;
	return 0;
}

static int read_document(struct token_file *file, struct token_set *set)
{
	const yaml_node_t *list = NULL;
	int r;

	r = find_list(file, &list);
	if (r < 0)
		return r;
	for (yaml_node_item_t *item = list->data.sequence.items.start;
	     item < list->data.sequence.items.top; item++) {
		r = read_token(file, yaml_document_get_node(file->document, *item), set);
		if (r < 0)
			return r;
	}
	return 0;
}

int token_set_parse(struct bytes_view text, const char *source, struct token_set *ret_set,
		    char ret_message[AUTH_MESSAGE_SIZE])
{
	struct token_file file = { .source = source, .message = ret_message };
	struct token_set set = {};
	yaml_document_t document;
	yaml_parser_t parser;
	int r;

	if (!yaml_parser_initialize(&parser))
		return -ENOMEM;
	/* The data of an empty file is NULL. */
	yaml_parser_set_input_string(&parser, text.data ? text.data : (const uint8_t *)"",
				     text.size);
	if (yaml_parser_load(&parser, &document)) {
		file.document = &document;
		r = read_document(&file, &set);
		yaml_document_delete(&document);
	} else {
		(void)snprintf(ret_message, AUTH_MESSAGE_SIZE, "'%s':%zu:%zu: %s", source,
			       parser.problem_mark.line + 1, parser.problem_mark.column + 1,
			       parser.problem ? parser.problem : "not YAML");
		r = -EINVAL;
	}
	yaml_parser_delete(&parser);
	if (r < 0) {
		token_set_release(&set);
		if (r == -ENOMEM)
			(void)snprintf(ret_message, AUTH_MESSAGE_SIZE, "'%s': out of memory",
				       source);
		return r;
	}
	*ret_set = set;
	return 0;
}
