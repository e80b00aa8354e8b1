/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/open_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/file.h"
#include "symbolizer/ingest/batch_payload.h"
#include "symbolizer/store/clickhouse/clickhouse_store.h"
#include "symbolizer/store/segment_store/segment_store.h"
#include "symbolizer/store/sqlite/make_room.h"
#include "symbolizer/store/sqlite/sqlite_store.h"

#define MAX_PASSWORD_BYTES 4096

static bool has_file(const char *folder, const char *name)
{
	scoped_free char *path = NULL;

	return asprintf(&path, "%s/%s", folder, name) >= 0 && access(path, F_OK) == 0;
}

static bool uses_segments(const struct symbolizer_config *config)
{
	if (strcmp(config->store, "auto") != 0)
		return strcmp(config->store, "segments") == 0;
	return !has_file(config->data, "hearth.db") || has_file(config->data, "inbox.db");
}

static int open_segments(const struct symbolizer_config *config, const struct clock *clock,
			 struct store **ret_store)
{
	const struct segment_store_options options = {
		.folder = config->data,
		.clock = clock,
		.decoder = { .decode = batch_payload_decode,
			     .extract_definitions = batch_payload_definitions,
			     .decode_definitions = batch_payload_decode_definitions },
		.retention_ns = config->retention_ns,
		.hourly_retention_ns = config->hourly_retention_ns,
		.max_bytes = config->retention_bytes,
	};

	return segment_store_open(&options, ret_store);
}

static int open_days(const struct symbolizer_config *config, const struct clock *clock,
		     struct store **ret_store)
{
	const struct retention_limits limits = {
		.age_ns = config->retention_ns,
		.max_bytes = config->retention_bytes,
	};

	sqlite_store_make_room(config->data, clock, &limits);
	return sqlite_store_open(config->data, clock, ret_store);
}

/* The first line of the file. */
static int read_password(const char *path, struct bytes *password, char *ret_message)
{
	int r = file_read(path, password);

	if (r == 0)
		r = bytes_append_byte(password, '\0');
	if (r < 0) {
		(void)snprintf(ret_message, OPEN_STORE_MESSAGE_SIZE,
			       "clickhouse.password_file: cannot read '%.512s': %s; correct the "
			       "path, or make it readable for the user of the server",
			       path, strerror(-r));
		return r;
	}
	password->data[strcspn((const char *)password->data, "\r\n")] = '\0';
	return 0;
}

/* *ret_server borrows from @config and @password. */
static int configure_server(const struct symbolizer_config *config, struct bytes *password,
			    struct clickhouse_options *ret_server,
			    char ret_message[OPEN_STORE_MESSAGE_SIZE])
{
	*ret_server = (struct clickhouse_options){
		.url = config->clickhouse_url,
		.database = config->clickhouse_database,
		.user = config->clickhouse_user,
		.cluster = *config->clickhouse_cluster ? config->clickhouse_cluster : NULL,
	};
	if (*config->clickhouse_password_file) {
		int r = read_password(config->clickhouse_password_file, password, ret_message);

		if (r < 0)
			return r;
		ret_server->password = (const char *)password->data;
	}
	return 0;
}

static int open_clickhouse(const struct symbolizer_config *config, const struct clock *clock,
			   struct store **ret_store, char *ret_message)
{
	scoped(bytes_release) struct bytes password = BYTES_INIT(MAX_PASSWORD_BYTES);
	struct clickhouse_store_options options = {
		.folder = config->data,
		.clock = clock,
		.has_in_process = config->clickhouse_in_process_ns > 0,
	};
	char reason[CLICKHOUSE_STORE_MESSAGE_SIZE];
	int r = configure_server(config, &password, &options.server, ret_message);

	if (r < 0)
		return r;
	r = clickhouse_store_open(&options, ret_store, reason);
	if (r < 0)
		(void)snprintf(ret_message, OPEN_STORE_MESSAGE_SIZE,
			       "cannot open the sample store in ClickHouse: %s; check the keys "
			       "clickhouse.*",
			       reason);
	return r;
}

static bool uses_clickhouse(const struct symbolizer_config *config)
{
	return strcmp(config->store, "clickhouse") == 0;
}

int open_in_process(const struct symbolizer_config *config, struct in_process_options *options,
		    struct in_process **ret_in_process, char ret_message[OPEN_STORE_MESSAGE_SIZE])
{
	scoped(bytes_release) struct bytes password = BYTES_INIT(MAX_PASSWORD_BYTES);
	int r;

	if (!uses_clickhouse(config) || config->clickhouse_in_process_ns == 0)
		return 0;
	r = configure_server(config, &password, &options->server, ret_message);
	if (r < 0)
		return r;
	options->retention_ns = config->clickhouse_in_process_ns;
	return in_process_start(options, ret_in_process);
}

int open_store(const struct symbolizer_config *config, const struct clock *clock,
	       struct store **ret_store, char ret_message[OPEN_STORE_MESSAGE_SIZE])
{
	if (uses_clickhouse(config))
		return open_clickhouse(config, clock, ret_store, ret_message);
	return uses_segments(config) ? open_segments(config, clock, ret_store)
				     : open_days(config, clock, ret_store);
}
