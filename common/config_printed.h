/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Values in the form in which config_print() prints them, which is that of YAML and JSON: a text in
 * double quotes, a list in brackets. People copy them from there into flags and variables.
 */

/*
 * @text is one list such as ["a=b", c]: *ret_items are its items, joined by '\n', to be freed.
 * Empty items are left out. -EINVAL when it is anything else; -ENOMEM.
 */
int config_printed_list(const char *text, char **ret_items);

/* @text is one text in double quotes: *ret_text is what is quoted. The same errors. */
int config_printed_text(const char *text, char **ret_text);
