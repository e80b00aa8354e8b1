/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Parses values in the form in which config_print() prints them, which is valid YAML and JSON: a
 * text in double quotes, a list in brackets. Users copy such values into flags and variables.
 */

/*
 * Parses one list such as ["a=b", c]. *ret_items are its items, joined by '\n'; the caller frees
 * them. Empty items are omitted. 0; -EINVAL: @text is not one list; -ENOMEM.
 */
int config_printed_list(const char *text, char **ret_items);

/*
 * Parses one text in double quotes. The caller frees *ret_text. 0; -EINVAL: @text is not one such
 * text; -ENOMEM.
 */
int config_printed_text(const char *text, char **ret_text);
