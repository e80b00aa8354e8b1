/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads a configuration that is described by one table of keys: from the defaults, then a YAML
 * file, then the environment, then flags. A later source overrides an earlier one.
 *
 * A key "on_cpu.frequency" is `on_cpu: {frequency: 99}` in YAML (nested maps or the dotted name
 * itself), HEARTH_AGENT_ON_CPU_FREQUENCY in the environment ('.' and '-' become '_') and
 * --on_cpu.frequency=99 as a flag. Flags and variables also accept the form in which config_print()
 * prints a value: "text" in double quotes, ["a", "b"] for a list. Each key is bound to a field of
 * one struct by its offset. Programs list their keys in a config.def X-macro. --help, the commented
 * default file in deploy/config/ and docs/configuration-*.md are printed from the same rows.
 *
 * Messages name the source ("'/etc/hearth/agent.yaml':3:14", "HEARTH_AGENT_ON_CPU_FREQUENCY",
 * "--on_cpu.frequency"), the key, the value and the accepted values. An unknown key is an error,
 * and its message suggests the most similar key.
 */

#include "common/base.h"

enum config_type {
	CONFIG_BOOL, /* bool: true/false, yes/no, on/off, 1/0 */
	CONFIG_UINT, /* uint64_t from min to max */
	/* uint64_t nanoseconds: "500ms", "5s", "10m", "1h", "7d", plain number = seconds */
	CONFIG_DURATION,
	CONFIG_SIZE, /* uint64_t bytes: "64KiB", "32MiB", "1GiB", plain number = bytes */
	CONFIG_TEXT, /* char *, owned by the struct */
	/* char *, owned by the struct: a YAML sequence or comma-separated text, joined by '\n' */
	CONFIG_LIST,
};

struct config_key {
	const char *name;
	enum config_type type;
	size_t offset;            /* of the field in the config struct */
	const char *default_text; /* in the form of a flag's value */
	uint64_t min;             /* UINT, DURATION (ns), SIZE (bytes) */
	uint64_t max;             /* 0: no limit */
	const char *help;         /* with units, unless the type gives them */
};

struct config_table {
	const struct config_key *keys;
	size_t n_keys;
	const char *environment_prefix; /* "HEARTH_AGENT_" */
};

#define CONFIG_MESSAGE_SIZE 512

/*
 * Sets every field to its default. @config must be zeroed. 0, or -ENOMEM: then @config owns no
 * texts and needs no config_release().
 */
int config_set_defaults(const struct config_table *table, void *config);

/* 0, or a negative errno with @ret_message filled: -ENOENT if the file does not exist, -EINVAL. */
int config_load_file(const struct config_table *table, const char *path, void *config,
		     char ret_message[CONFIG_MESSAGE_SIZE]);

/* @environment as in environ(7). Variables with other prefixes are ignored. */
int config_load_environment(const struct config_table *table, char *const *environment,
			    void *config, char ret_message[CONFIG_MESSAGE_SIZE]);

/* Sets one key to the value of a flag. Messages begin with @source. */
int config_set(const struct config_table *table, const char *name, const char *value,
	       const char *source, void *config, char ret_message[CONFIG_MESSAGE_SIZE]);

/* Frees the texts and lists in @config. */
void config_release(const struct config_table *table, void *config);

struct bytes;

/* Appends the effective configuration as YAML, "key: value" per line in the table's order. */
int config_print(const struct config_table *table, const void *config, struct bytes *out);

/* Appends a commented YAML file with all keys and their defaults. */
int config_print_default_file(const struct config_table *table, const char *title,
			      struct bytes *out);

/* Appends the Markdown table for docs/. */
int config_print_markdown(const struct config_table *table, const char *title, struct bytes *out);
