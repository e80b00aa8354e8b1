/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* For commands that need a service, when the user named none: prints the busiest services. */

#include "symbolizer/cli/list/service_list.h"
#include "symbolizer/cli/options/exit_code.h"

#define SERVICE_CHOICE_ROWS 5

/*
 * Appends the busiest services and how to name one. @command: "hearth flame". Returns 0 or -ENOMEM.
 */
int service_choice_write(const struct service_list *list, const char *command, struct bytes *out);

/*
 * Fetches the services and prints them to stderr. Returns EXIT_USAGE, EXIT_NO_DATA if there are
 * none, or logs an error and returns EXIT_ERROR (EXIT_USAGE if the server refused the arguments).
 */
enum exit_code service_choice_print(struct client *client, const struct time_range *range,
				    const char *command);
