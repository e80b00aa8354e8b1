/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/options.h"

#include <stdio.h>
#include <string.h>

#include "common/scoped.h"
#include "symbolizer/http/auth.h"
#include "symbolizer/token_command.h"

enum option_key {
	OPTION_PORT = CONFIG_OPTION_FIRST_OWN,
	OPTION_MAKE_TOKEN,
	OPTION_SCOPES,
	OPTION_TENANT,
	OPTION_BACKUP,
	OPTION_CHECK,
};

static const struct argp_option fixed_options[] = {
	CONFIG_OPTION_ROW_FILE(SYMBOLIZER_CONFIG_FILE, 1),
	{ "port", OPTION_PORT, "PORT", 0, "The same as --listen=127.0.0.1:PORT", 1 },
	CONFIG_OPTION_ROWS_PRINT(OPTION_HIDDEN, 1),
	{ "backup", OPTION_BACKUP, "DIR", 0,
	  "Copy the data folder to the new folder DIR and exit; a server may be using it", 1 },
	{ "check", OPTION_CHECK, NULL, 0,
	  "Read all databases of the data folder, print their faults, and exit; no server may be "
	  "using it",
	  1 },
	{ "make-token", OPTION_MAKE_TOKEN, "NAME", 0,
	  "Print a new token, append its entry to the file of --tokens (without --tokens: print it "
	  "too), and exit",
	  3 },
	{ "scopes", OPTION_SCOPES, "LIST", 0,
	  "With --make-token: any of ingest, upload, read, admin", 3 },
	{ "tenant", OPTION_TENANT, "TENANT", 0,
	  "With --make-token: the tenant of the token (default 'default')", 3 },
	CONFIG_OPTION_ROWS_HELP(4),
};

static const struct config_flag_source flags = {
	.fixed = fixed_options,
	.n_fixed = ARRAY_SIZE(fixed_options),
	.table = &symbolizer_config_table,
	.first_key = CONFIG_OPTION_FIRST_KEY,
	.group = 2,
};

struct own_options {
	const char *token_name, *token_scopes, *token_tenant;
	const char *backup;
	bool check;
	char address[64]; /* of the last --port */
};

static int finish(void *config, char message[CONFIG_MESSAGE_SIZE])
{
	return symbolizer_config_check(config, message);
}

static int take_own(struct config_options *options, void *arg, int key, const char *argument)
{
	struct own_options *own = arg;

	switch (key) {
	case OPTION_PORT:
		(void)snprintf(own->address, sizeof(own->address), "127.0.0.1:%.32s", argument);
		return config_options_add(options, "port", "listen", own->address);
	case OPTION_BACKUP:
		own->backup = argument;
		return 0;
	case OPTION_CHECK:
		own->check = true;
		return 0;
	case OPTION_SCOPES:
		own->token_scopes = argument;
		return 0;
	case OPTION_TENANT:
		own->token_tenant = argument;
		return 0;
	default:
		assert(key == OPTION_MAKE_TOKEN);
		own->token_name = argument;
		return 1;
	}
}

/* Appends only to a tokens file that the command line names, never to that of the configuration. */
static int make_token(const struct config_options *options, void *arg, FILE *out,
		      char message[CONFIG_MESSAGE_SIZE])
{
	const struct own_options *own = arg;
	const char *path = config_options_value(options, "tokens");
	const struct token_request request = {
		.name = own->token_name,
		.scopes = own->token_scopes ? own->token_scopes : "",
		.tenant = own->token_tenant ? own->token_tenant : AUTH_DEFAULT_TENANT,
		.path = path ? path : "",
		.out = out,
		.hints = stderr,
	};

	return token_command(&request, message);
}

static const struct config_program program = {
	.name = "hearth-symbolizer",
	.doc = "Stores the samples of a fleet, symbolizes their addresses and serves "
	       "profiles over HTTP."
	       "\vFlags override HEARTH_SYMBOLIZER_* variables, which override the file.",
	.path = SYMBOLIZER_CONFIG_FILE,
	.title = SYMBOLIZER_CONFIG_TITLE,
	.flags = &flags,
	.finish = finish,
	.take_own = take_own,
	.answer_own = make_token,
};

int options_parse(int argc, char **argv, char *const *environment, FILE *out,
		  struct symbolizer_config *ret_config, char ret_message[CONFIG_MESSAGE_SIZE])
{
	scoped(symbolizer_config_release) struct symbolizer_config config = {};
	struct own_options own = {};
	int r;

	r = config_options_parse(&program, &own, argc, argv, environment, out, &config,
				 ret_message);
	if (r == OPTIONS_RUN) {
		config.check = own.check;
		config.backup = own.backup ? strdup(own.backup) : NULL;
		if (own.backup && !config.backup)
			return -ENOMEM;
		*ret_config = config;
		config = (struct symbolizer_config){};
	}
	return r;
}
