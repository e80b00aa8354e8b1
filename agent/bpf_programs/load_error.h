/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a user can do about an error of the kernel while the BPF programs are loaded.
 */

#include "common/base.h"

#define LOAD_REMEDY_SIZE 256

/*
 * Writes the remedy for the negative errno @error. @max_files is the limit on open descriptors of
 * the process (RLIMIT_NOFILE), which the remedy for EMFILE names.
 */
void load_error_remedy(int error, uint64_t max_files, char ret_remedy[LOAD_REMEDY_SIZE]);

/* Logs "cannot @attempt", the error and its remedy. Returns @error. */
int load_error_log(int error, const char *attempt);
