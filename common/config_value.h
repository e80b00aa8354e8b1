/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Parses and prints one value of a configuration, and describes the accepted values. Included by
 * the config_*.c files and the generator of the manual; programs include common/config.h.
 */

#include "common/bytes.h"
#include "common/config.h"

#define CONFIG_EXPECTED_SIZE 160

/*
 * Sets the field of @key in @config to the value that @text represents. 0, -EINVAL (@text has
 * another type, or is out of range), -ENOMEM.
 */
int config_value_parse(const struct config_key *key, const char *text, void *config);

/* Replaces the text of a CONFIG_TEXT or CONFIG_LIST field. Takes ownership of @text. */
void config_value_take_text(const struct config_key *key, char *text, void *config);

/* Writes a description of the accepted values, for example "a whole number from 1 to 64". */
void config_value_expected(const struct config_key *key, char ret_text[CONFIG_EXPECTED_SIZE]);

/* Appends the value to @out as YAML. A configuration file with this text sets the same value. */
void config_value_print(const struct config_key *key, const void *config, struct bytes *out);

/* Appends the default of @key in the form of config_value_print(). */
void config_value_print_default(const struct config_key *key, struct bytes *out);

/* Returns the key with this name, or NULL. */
const struct config_key *config_find_key(const struct config_table *table, const char *name);

/*
 * Writes the message "<source>: unknown key '<name>', did you mean '<nearest>'?" with the most
 * similar key of @table. Returns -EINVAL.
 */
int config_unknown_key(const struct config_table *table, const char *name, const char *source,
		       char ret_message[CONFIG_MESSAGE_SIZE]);

/* Like config_set(), for a caller that already has the key from config_find_key(). */
int config_set_key(const struct config_key *key, const char *value, const char *source,
		   void *config, char ret_message[CONFIG_MESSAGE_SIZE]);
