/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Opens the storage engine that the configuration selects, and what belongs to one engine only. */

#include "common/clock.h"
#include "symbolizer/config.h"
#include "symbolizer/in_process/in_process.h"
#include "symbolizer/store/store.h"

#define OPEN_STORE_MESSAGE_SIZE 1536

/* The data folder exists. An error has a message unless it concerns this folder. */
int open_store(const struct symbolizer_config *config, const struct clock *clock,
	       struct store **ret_store, char ret_message[OPEN_STORE_MESSAGE_SIZE]);

/*
 * Starts to fill profile.in_process, if it is configured; else *ret_in_process is not set. @options
 * has all but the server and the retention. An error has a message unless there is no memory.
 */
int open_in_process(const struct symbolizer_config *config, struct in_process_options *options,
		    struct in_process **ret_in_process, char ret_message[OPEN_STORE_MESSAGE_SIZE]);
