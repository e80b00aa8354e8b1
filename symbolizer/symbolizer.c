/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Start and stop. A failed start yields one message that names the object, the cause and the
 * remedy, because its typical reader has just installed the server.
 */

#include "symbolizer/symbolizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/file.h"
#include "common/log.h"
#include "symbolizer/api/api.h"
#include "symbolizer/http/server.h"
#include "symbolizer/memory_share.h"
#include "symbolizer/open_store.h"
#include "symbolizer/token_watch.h"

#define DATA_FOLDER_MODE 0750

#define MIN_WORKERS 4

struct symbolizer {
	const struct clock *clock;
	struct store *store;
	struct debuginfo_store *debuginfo;
	struct debuginfo_upstream *upstream; /* NULL: not configured */
	struct resolver *resolver;
	struct in_process *in_process; /* NULL: not configured */
	struct ingest *ingest;
	struct auth *auth;
	struct token_watch token_watch; /* used by the reloading thread only */
	struct route_metrics *route_metrics;
	struct memory_budget query_memory, ingest_memory;
	struct api_context api;
	/* workers read it for /metrics, from the first request on */
	_Atomic(struct http_server *) http;
};

static const char *remedy_for_folder(int error)
{
	switch (-error) {
	case EBUSY:
		return "another hearth-symbolizer uses it: stop that one, or choose another folder "
		       "with --data";
	case EACCES:
	case EPERM:
		return "run as the folder's owner, or choose another folder with --data";
	case EROFS:
		return "the file system is read-only: choose another folder with --data";
	case ENOSPC:
	case EDQUOT:
		return "make room, or lower retention_size to remove the oldest samples, or choose "
		       "another folder with --data";
	case ESTALE:
		return "it holds files of another data folder: put back the files that belong "
		       "together, or choose another folder with --data";
	case ENOTDIR:
		return "a part of the path is not a folder: choose another with --data";
	case ENOMEM:
		return "free memory, or raise the memory limit of the service";
	default:
		return "check the folder, or choose another with --data";
	}
}

/* @attempt: "open the sample store in". */
static int folder_failed(const struct symbolizer_config *config, const char *attempt, int error,
			 char ret_message[SYMBOLIZER_MESSAGE_SIZE])
{
	(void)snprintf(ret_message, SYMBOLIZER_MESSAGE_SIZE, "cannot %s '%s': %s; %s", attempt,
		       config->data, strerror(-error), remedy_for_folder(error));
	return error;
}

/* For an object that needs nothing but memory. */
static int memory_failed(const char *object, int error, char ret_message[SYMBOLIZER_MESSAGE_SIZE])
{
	(void)snprintf(ret_message, SYMBOLIZER_MESSAGE_SIZE,
		       "cannot start %s: %s; free memory, or raise the memory limit of the service",
		       object, strerror(-error));
	return error;
}

static int open_samples(struct symbolizer *symbolizer, const struct symbolizer_config *config,
			char ret_message[SYMBOLIZER_MESSAGE_SIZE])
{
	char reason[OPEN_STORE_MESSAGE_SIZE] = "";
	int r = open_store(config, symbolizer->clock, &symbolizer->store, reason);

	if (r < 0 && reason[0])
		(void)snprintf(ret_message, SYMBOLIZER_MESSAGE_SIZE, "%.*s",
			       SYMBOLIZER_MESSAGE_SIZE - 1, reason);
	else if (r < 0)
		(void)folder_failed(config, "open the sample store in", r, ret_message);
	return r;
}

static int open_stores(struct symbolizer *symbolizer, const struct symbolizer_config *config,
		       char ret_message[SYMBOLIZER_MESSAGE_SIZE])
{
	int r;

	r = make_folders(config->data, DATA_FOLDER_MODE);
	if (r < 0)
		return folder_failed(config, "create the data folder", r, ret_message);
	r = open_samples(symbolizer, config, ret_message);
	if (r < 0)
		return r;
	r = debuginfo_store_open(config->data, symbolizer->clock, &symbolizer->debuginfo);
	if (r < 0)
		return folder_failed(config, "open the debuginfo store in", r, ret_message);
	return 0;
}

static int open_resolver(struct symbolizer *symbolizer, const struct symbolizer_config *config,
			 char ret_message[SYMBOLIZER_MESSAGE_SIZE])
{
	const struct symbol_cache_options tables = {
		.debuginfo = symbolizer->debuginfo,
		.clock = symbolizer->clock,
		.folder = config->data,
		.helper = "/proc/self/exe",
		.max_bytes = config->symbol_cache_bytes,
		.stored_bytes = config->symbol_store_bytes,
	};
	int r;

	r = resolver_new(&tables, &symbolizer->resolver);
	return r < 0 ? folder_failed(config, "open the symbol tables in", r, ret_message) : 0;
}

static int make_parts(struct symbolizer *symbolizer, const struct symbolizer_config *config,
		      char ret_message[SYMBOLIZER_MESSAGE_SIZE])
{
	size_t n_routes;
	const struct http_route *routes = api_routes(&n_routes);
	int r;

	r = ingest_new(symbolizer->store, symbolizer->debuginfo, symbolizer->clock,
		       &symbolizer->ingest);
	if (r < 0)
		return memory_failed("the ingest", r, ret_message);
	if (symbolizer_config_from_agents(config) == DEBUGINFO_FROM_AGENTS_ALL)
		ingest_set_policy(symbolizer->ingest, INGEST_WANTS_DEBUG_SECTIONS);
	r = route_metrics_new(routes, n_routes, &symbolizer->route_metrics);
	if (r < 0)
		return memory_failed("the metrics", r, ret_message);
	r = auth_new(&symbolizer->auth);
	return r < 0 ? memory_failed("the check of tokens", r, ret_message) : 0;
}

static int fill_in_process(struct symbolizer *symbolizer, const struct symbolizer_config *config,
			   char ret_message[SYMBOLIZER_MESSAGE_SIZE])
{
	struct in_process_options options = {
		.store = symbolizer->store,
		.resolver = symbolizer->resolver,
		.debuginfo = symbolizer->debuginfo,
		.clock = symbolizer->clock,
		.memory = &symbolizer->query_memory,
	};
	char reason[OPEN_STORE_MESSAGE_SIZE] = "";
	int r = open_in_process(config, &options, &symbolizer->in_process, reason);

	if (r < 0 && reason[0])
		(void)snprintf(ret_message, SYMBOLIZER_MESSAGE_SIZE, "%.*s",
			       SYMBOLIZER_MESSAGE_SIZE - 1, reason);
	else if (r < 0)
		(void)memory_failed("the table profile.in_process", r, ret_message);
	return r;
}

static uint64_t percent_of(uint64_t bytes, uint64_t percent)
{
	return bytes / 100 * percent + bytes % 100 * percent / 100;
}

/* Sets the quota of the debuginfo store and the upstream servers. */
static int set_up_debuginfo(struct symbolizer *symbolizer, const struct symbolizer_config *config,
			    char ret_message[SYMBOLIZER_MESSAGE_SIZE])
{
	const struct debuginfo_upstream_options options = {
		.urls = config->debuginfo_upstream,
		.timeout_ns = config->debuginfo_upstream_timeout_ns,
		.max_bytes = config->debuginfo_upstream_max_bytes,
	};
	char reason[DEBUGINFO_MESSAGE_SIZE];
	int r;

	debuginfo_store_set_quota(
		symbolizer->debuginfo, config->debuginfo_quota_bytes,
		percent_of(config->debuginfo_quota_bytes, config->debuginfo_quota_low_pct));
	if (!*config->debuginfo_upstream)
		return 0;
	r = debuginfo_upstream_new(symbolizer->debuginfo, &options, &symbolizer->upstream, reason);
	if (r < 0)
		(void)snprintf(ret_message, SYMBOLIZER_MESSAGE_SIZE,
			       "debuginfo.upstream: %s; correct it, or leave it empty to start "
			       "without other servers",
			       reason);
	return r;
}

static unsigned int open_connections(void *arg)
{
	struct symbolizer *symbolizer = arg;
	struct http_server *http = atomic_load(&symbolizer->http);

	/* A request may be served before http_server_start() has returned. */
	return http ? http_server_connections(http) : 0;
}

static unsigned int count_workers(const struct symbolizer_config *config)
{
	long wanted = 2 * sysconf(_SC_NPROCESSORS_ONLN);

	if (config->threads > 0)
		return (unsigned int)config->threads;
	return (unsigned int)MAX(wanted, (long)MIN_WORKERS);
}

/* A query never uses the memory for batches: a busy page must not stop ingest. */
static void share_memory(struct symbolizer *symbolizer, const struct symbolizer_config *config)
{
	uint64_t limit = config->memory_limit_bytes;

	if (limit == 0)
		limit = memory_of_process_bytes() / 2;
	symbolizer->query_memory.limit_bytes = limit / 4 * 3;
	symbolizer->ingest_memory.limit_bytes = limit / 4;
	symbolizer->api.memory = &symbolizer->query_memory;
	ingest_set_memory(symbolizer->ingest, &symbolizer->ingest_memory);
}

static void fill_context(struct symbolizer *symbolizer, const struct symbolizer_config *config)
{
	struct api_context *api = &symbolizer->api;

	api->store = symbolizer->store;
	api->debuginfo = symbolizer->debuginfo;
	api->resolver = symbolizer->resolver;
	api->ingest = symbolizer->ingest;
	api->clock = symbolizer->clock;
	api->agents_may_upload =
		symbolizer_config_from_agents(config) != DEBUGINFO_FROM_AGENTS_NONE;
	api->max_upload_bytes = config->debuginfo_max_upload_bytes;
	api->upstream = symbolizer->upstream;
	api->upstream_wait_ns = config->debuginfo_upstream_wait_ns;
	/*
	 * A quarter of the lane's workers, rounded. One token uses at most half of the workers, so
	 * at least half of these continue to serve stored files.
	 */
	api->max_upstream_waits = (count_workers(config) + 2) / 4;
	api->route_metrics = symbolizer->route_metrics;
	api->connections = open_connections;
	api->connections_arg = symbolizer;
}

static struct http_client_limits client_limits(const struct symbolizer_config *config)
{
	uint64_t per_client = config->max_connections_per_client;
	uint64_t per_token = config->max_requests_per_token;

	return (struct http_client_limits){
		.header_timeout_ns = config->header_timeout_ns,
		.body_grace_ns = config->body_grace_ns,
		.body_min_rate = config->body_min_rate,
		.answer_min_rate = config->answer_min_rate,
		.max_per_client =
			(unsigned int)(per_client ? per_client : config->max_connections / 2),
		.max_requests_per_token =
			(unsigned int)(per_token ? per_token : config->max_connections * 3 / 4),
	};
}

static int serve(struct symbolizer *symbolizer, const struct symbolizer_config *config,
		 char ret_message[SYMBOLIZER_MESSAGE_SIZE])
{
	struct http_server_options options = {
		.context = &symbolizer->api,
		.auth = symbolizer->auth,
		.metrics = symbolizer->route_metrics,
		.clock = symbolizer->clock,
		.listen = config->listen,
		.n_workers = count_workers(config),
		.max_connections = (unsigned int)config->max_connections,
		.answer_memory = &symbolizer->query_memory,
		.limits = client_limits(config),
		.insecure = config->insecure,
	};
	struct http_server *http;
	int r;

	if (*config->tokens) {
		r = token_watch_load(&symbolizer->token_watch, symbolizer->auth, config->tokens,
				     ret_message);
		if (r < 0)
			return r;
	}
	options.routes = api_routes(&options.n_routes);
	r = http_server_start(&options, &http, ret_message);
	if (r == 0)
		atomic_store(&symbolizer->http, http);
	return r;
}

/* Raises the limit of open files: each connection is one, and each agent keeps a connection
 * open. The usual soft limit of 1024 is for programs that use select(). */
void symbolizer_raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		(void)log_warn_errno(
			errno,
			"cannot raise the limit of open files, fewer agents can connect: %m");
}

int symbolizer_start(const struct symbolizer_config *config, const struct clock *clock,
		     struct symbolizer **ret_symbolizer, char ret_message[SYMBOLIZER_MESSAGE_SIZE])
{
	scoped(symbolizer_freep) struct symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));
	int r;

	if (!symbolizer)
		return memory_failed("the server", -ENOMEM, ret_message);
	symbolizer->clock = clock;
	symbolizer_raise_file_limit();

	r = open_stores(symbolizer, config, ret_message);
	if (r < 0)
		return r;
	store_set_retention(symbolizer->store, config->retention_ns);
	store_set_hourly_retention(symbolizer->store, config->hourly_retention_ns);
	store_set_max_bytes(symbolizer->store, config->retention_bytes);
	r = open_resolver(symbolizer, config, ret_message);
	if (r < 0)
		return r;
	r = make_parts(symbolizer, config, ret_message);
	if (r < 0)
		return r;
	r = set_up_debuginfo(symbolizer, config, ret_message);
	if (r < 0)
		return r;
	share_memory(symbolizer, config);
	fill_context(symbolizer, config);
	r = fill_in_process(symbolizer, config, ret_message);
	if (r < 0)
		return r;
	r = api_start_readings(&symbolizer->api);
	if (r < 0)
		return memory_failed("the threads that look at the disk", r, ret_message);
	r = serve(symbolizer, config, ret_message);
	if (r < 0)
		return r;
	*ret_symbolizer = take_ptr(symbolizer);
	return 0;
}

struct symbolizer *symbolizer_free(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return NULL;
	/* Stop the HTTP workers before freeing the stores they use. Stop waiting for upstream
	 * servers first, so that no worker waits for them. */
	debuginfo_upstream_stop(symbolizer->upstream);
	(void)http_server_free(symbolizer->http);
	api_stop_readings(&symbolizer->api);
	(void)auth_free(symbolizer->auth);
	token_watch_release(&symbolizer->token_watch);
	(void)route_metrics_free(symbolizer->route_metrics);
	(void)ingest_free(symbolizer->ingest);
	(void)in_process_free(symbolizer->in_process);
	(void)resolver_free(symbolizer->resolver);
	(void)debuginfo_upstream_free(symbolizer->upstream);
	(void)debuginfo_store_free(symbolizer->debuginfo);
	(void)store_free(symbolizer->store);
	free(symbolizer);
	return NULL;
}

static void load_tokens(struct symbolizer *symbolizer, const char *path)
{
	struct token_watch *watch = &symbolizer->token_watch;
	char message[AUTH_MESSAGE_SIZE];

	if (token_watch_load(watch, symbolizer->auth, path, message) < 0)
		log_error("%s; the old tokens stay", message);
	else
		log_info("read the tokens in '%s' again", watch->path);
}

void symbolizer_check_tokens(struct symbolizer *symbolizer)
{
	if (token_watch_changed(&symbolizer->token_watch))
		load_tokens(symbolizer, symbolizer->token_watch.path);
}

void symbolizer_reload(struct symbolizer *symbolizer, const struct symbolizer_config *config)
{
	log_set_level(symbolizer_config_log_level(config));
	log_info("read the configuration again; log level and tokens are taken from it");
	if (!*config->tokens) {
		if (auth_has_tokens(symbolizer->auth))
			log_warn("tokens were taken out of the configuration; the old ones stay "
				 "until a restart");
		return;
	}
	load_tokens(symbolizer, config->tokens);
}

void symbolizer_prune(struct symbolizer *symbolizer)
{
	size_t n_days = 0;
	int r = store_retain(symbolizer->store, &n_days);

	if (r < 0)
		(void)log_warn_errno(
			r,
			"cannot remove samples beyond the retention, trying again in a minute: %m");
}

unsigned int symbolizer_port(const struct symbolizer *symbolizer)
{
	return http_server_port(symbolizer->http);
}
