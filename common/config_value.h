/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Parses and prints one value of a configuration, and describes the accepted values. Included by
 * the config_*.c files and the generator of the manual; programs include common/config.h.
 */

#include "common/bytes.h"
#include "common/config.h"

#define CONFIG_EXPECTED_SIZE 160

/* Sets the field of @key to @text. 0, -EINVAL (wrong type, or out of range), -ENOMEM. */
int config_value_parse(const struct config_key *key, const char *text, void *config);

/* Replaces the text of a TEXT or LIST field. Takes ownership of @text. */
void config_value_take_text(const struct config_key *key, char *text, void *config);

/* The accepted values: "a duration from 1s to 1h, such as '500ms', '5s', '10m', '1h', '7d'". */
void config_value_expected(const struct config_key *key, char ret_text[CONFIG_EXPECTED_SIZE]);

/* Appends the value as YAML. Parsing it again gives the same value. */
void config_value_print(const struct config_key *key, const void *config, struct bytes *out);

/* Appends the default in the same form. */
void config_value_print_default(const struct config_key *key, struct bytes *out);

/* NULL: unknown key. */
const struct config_key *config_find_key(const struct config_table *table, const char *name);

/* "<source>: unknown key '<name>', did you mean '<nearest>'?" Returns -EINVAL. */
int config_unknown_key(const struct config_table *table, const char *name, const char *source,
		       char ret_message[CONFIG_MESSAGE_SIZE]);

/* Like config_set(), for a key that has been looked up. */
int config_set_key(const struct config_key *key, const char *value, const char *source,
		   void *config, char ret_message[CONFIG_MESSAGE_SIZE]);
