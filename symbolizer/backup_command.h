/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * hearth-symbolizer --backup DIR: writes a copy of the data folder to the new folder DIR, while a
 * server uses the data folder or not. A server that is started with DIR as its data folder has the
 * samples, debuginfo and symbol tables of the moment when the backup began.
 */

#include <stdbool.h>

#define BACKUP_MESSAGE_SIZE 768

/*
 * Writes to "DIR.partial", which is renamed when it is complete: DIR is a whole backup or does not
 * exist. @has_samples: false if samples are in ClickHouse. Returns 0, or a negative errno with
 * @ret_message filled.
 */
int backup_command(const char *data, bool has_samples, const char *target,
		   char ret_message[BACKUP_MESSAGE_SIZE]);
