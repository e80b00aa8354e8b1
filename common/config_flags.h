/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Makes the options table of argp for a program that accepts its configuration keys as flags.
 *
 * Each name has two spellings, because keys contain '_' and other flags '-'. --help shows the
 * spelling with '-'; the one with '_' is a hidden alias. Dots do not change: "on_cpu.frequency" is
 * --on-cpu.frequency and --on_cpu.frequency.
 */

#include <argp.h>

#include "common/config.h"

#define CONFIG_FLAG_NAME_SIZE 64

struct config_flag_alias {
	const char *name; /* of the flag, such as "spool" */
	const char *key;  /* such as "spool.folder" */
};

struct config_flag_source {
	const struct argp_option *fixed; /* flags that are not configuration keys, with '-' */
	size_t n_fixed;
	const struct config_table *table;
	int first_key; /* argp's number for the first row of @table; row i has first_key + i */
	int group;     /* argp's group of the keys in --help */
	const struct config_flag_alias *aliases;
	size_t n_aliases;
};

struct config_flags {
	struct argp_option *options; /* ends with an empty row, as argp requires */
	char (*names)[CONFIG_FLAG_NAME_SIZE];
};

/* 0 or -ENOMEM. The tables that @source points to must outlive @flags. */
int config_flags_init(struct config_flags *flags, const struct config_flag_source *source);
void config_flags_release(struct config_flags *flags);

/* The spelling that --help shows, without "--". */
void config_flag_name(const char *key, char ret_name[CONFIG_FLAG_NAME_SIZE]);
