/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One value of a configuration: from text, to text, and what would have been accepted. Used by the
 * config_*.c files and by what prints the manual; programs include common/config.h.
 */

#include "common/bytes.h"
#include "common/config.h"

#define CONFIG_EXPECTED_SIZE 160

/* Puts @text into the field of @key. 0, -EINVAL (not such a value, or out of range), -ENOMEM. */
int config_value_parse(const struct config_key *key, const char *text, void *config);

/* Replaces the text of a TEXT or LIST field; the field owns @text from now on. */
void config_value_take_text(const struct config_key *key, char *text, void *config);

/* What the key accepts, e.g. "a duration from 1s to 1h, such as '500ms', '5s', '10m', '1h', '7d'".
 */
void config_value_expected(const struct config_key *key, char ret_text[CONFIG_EXPECTED_SIZE]);

/* Appends the value as YAML that gives the same value again. */
void config_value_print(const struct config_key *key, const void *config, struct bytes *out);

/* Appends the default in the same form. */
void config_value_print_default(const struct config_key *key, struct bytes *out);

/* NULL when there is no such key. */
const struct config_key *config_find_key(const struct config_table *table, const char *name);

/* "<source>: unknown key '<name>', did you mean '<nearest>'?" Returns -EINVAL. */
int config_unknown_key(const struct config_table *table, const char *name, const char *source,
		       char ret_message[CONFIG_MESSAGE_SIZE]);

/* config_set() once the key is known. */
int config_set_key(const struct config_key *key, const char *value, const char *source,
		   void *config, char ret_message[CONFIG_MESSAGE_SIZE]);
