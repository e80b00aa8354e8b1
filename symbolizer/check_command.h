/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * hearth-symbolizer --check: reads all databases of a data folder that no server uses, and logs
 * each fault with what to do about it.
 */

#include <stddef.h>

#define CHECK_MESSAGE_SIZE 768

/*
 * 0 with the number of faults, or a negative errno with @ret_message filled: the folder cannot be
 * checked.
 */
int check_command(const char *data, size_t *ret_faults, char ret_message[CHECK_MESSAGE_SIZE]);
