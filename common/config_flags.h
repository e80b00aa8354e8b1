/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * argp's rows for a program whose configuration keys are flags.
 *
 * Each name has two spellings, because keys have '_' and other flags '-': --help shows the one with
 * '-', and the one with '_' is a hidden alias. Dots stay: "on_cpu.frequency" is --on-cpu.frequency
 * and --on_cpu.frequency.
 */

#include <argp.h>

#include "common/config.h"

#define CONFIG_FLAG_NAME_SIZE 64

struct config_flag_alias {
	const char *name; /* of a flag, such as "spool" */
	const char *key;  /* of the configuration, such as "spool.folder" */
};

struct config_flag_source {
	const struct argp_option *fixed; /* those that are no keys; their names with '-' */
	size_t n_fixed;
	const struct config_table *table;
	int first_key; /* argp's key of the table's first key; those of the others follow */
	int group;     /* of the keys, in --help */
	const struct config_flag_alias *aliases;
	size_t n_aliases;
};

struct config_flags {
	struct argp_option *options; /* ends with an empty one, as argp wants it */
	char (*names)[CONFIG_FLAG_NAME_SIZE];
};

/* 0 or -ENOMEM. What @source points to must live as long. */
int config_flags_init(struct config_flags *flags, const struct config_flag_source *source);
void config_flags_release(struct config_flags *flags);

/* The spelling that --help shows, without "--". */
void config_flag_name(const char *key, char ret_name[CONFIG_FLAG_NAME_SIZE]);
