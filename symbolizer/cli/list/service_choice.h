/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a command that needs a service says when none was given: the busiest, and how to choose. */

#include "symbolizer/cli/list/service_list.h"
#include "symbolizer/cli/options/exit_code.h"

#define SERVICE_CHOICE_ROWS 5

/* @command: "hearth flame". 0 or -ENOMEM. */
int service_choice_write(const struct service_list *list, const char *command, struct bytes *out);

/* Asks the server for the services and says them on stderr: EXIT_USAGE; EXIT_NO_DATA where there are
 * none; EXIT_ERROR after a message. */
enum exit_code service_choice_print(struct client *client, const struct time_range *range,
				    const char *command);
