/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the calls of Pyroscope's query API have in common: the time range, label selectors and types
 * of a request. Functions that return bool return false after filling call->response with an error.
 */

#include "proto/querier.pb-c.h"
#include "symbolizer/api/answer.h"
#include "symbolizer/query/filter/label_selector.h"
#include "symbolizer/query/profile_type.h"

struct querier_call {
	struct api_context *context;
	const struct http_request *request;
	struct http_response *response;
	struct store_view *view;
	struct arena *arena;
	struct label_selector selector;
	struct answer_event event;
	/* Selects all services unless the selector has one. */
	struct profile_request profile;
	char message[PROFILE_MESSAGE_SIZE];
};

/* Prepares a call: opens the view and the arena. querier_end() follows in both cases. */
bool querier_begin(struct querier_call *call);
void querier_end(struct querier_call *call);

/* [start_ms, end_ms) in unix milliseconds; both 0: the last hour. */
bool querier_set_range(struct querier_call *call, int64_t start_ms, int64_t end_ms);

/* One of the selectors has to select a series. */
bool querier_set_selectors(struct querier_call *call, char *const *texts, size_t count);

/* @id: a profile type; "": that of the selector, or all types if @required is not set. */
bool querier_set_type(struct querier_call *call, const char *id, bool required);

/* Answers the failure of a query. */
void querier_fail(struct querier_call *call, int error);

/* Parameters of calls that return one profile. */
struct querier_selection {
	const char *type;
	const char *selector;
	int64_t start_ms, end_ms;
};

bool querier_select(struct querier_call *call, const struct querier_selection *selection);

/* Nodes of a flame graph if a request has no limit, as in Pyroscope. */
#define QUERIER_DEFAULT_NODES 8192

struct flamebearer;

/* Runs the query and makes the flame graph in the arena. */
bool querier_flamebearer(struct querier_call *call, int64_t max_nodes,
			 struct flamebearer *ret_flamebearer);

/* The values of label @name that selected series have, in the arena. */
bool querier_label_values(struct querier_call *call, const char *name, char ***ret_values,
			  size_t *ret_count);

/* Calls: @message is the request. */
typedef void (*querier_function)(struct querier_call *call, const ProtobufCMessage *message);
void querier_profile_types(struct querier_call *call, const ProtobufCMessage *message);
void querier_label_names(struct querier_call *call, const ProtobufCMessage *message);
void querier_values_of_label(struct querier_call *call, const ProtobufCMessage *message);
void querier_series(struct querier_call *call, const ProtobufCMessage *message);
void querier_select_series(struct querier_call *call, const ProtobufCMessage *message);
