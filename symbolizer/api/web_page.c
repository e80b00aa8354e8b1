/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The files of the web page, which are compiled into the program. A browser caches them and asks
 * with their ETag at each load whether they have changed, so that after an upgrade of the server
 * the next load of the page shows the new files.
 */

#include <string.h>

#include "symbolizer/api/api.h"
#include "symbolizer/ui/assets.h"

static void send_asset(const struct http_request *request, struct http_response *response,
		       const struct ui_asset *asset)
{
	bool gzip = asset->gzip && http_request_accepts(request, "Accept-Encoding", "gzip");
	const char *known = http_request_header(request, "If-None-Match");

	http_response_header(response, "ETag", "%s", asset->etag);
	http_response_header(response, "Cache-Control", "no-cache");
	http_response_header(response, "Vary", "Accept-Encoding");
	http_response_header(response, "Referrer-Policy", "no-referrer");
	http_response_header(response, "X-Frame-Options", "DENY");
	response->content_type = asset->content_type;
	/* A search in the text is enough: the header may list several tags, and a weak tag
	 * matches too. */
	if (known && strstr(known, asset->etag)) {
		response->status = 304;
		return;
	}
	if (gzip) {
		response->fixed_body =
			(struct bytes_view){ .data = asset->gzip, .size = asset->gzip_size };
		response->fixed_encoding = "gzip";
	} else {
		response->fixed_body =
			(struct bytes_view){ .data = asset->plain, .size = asset->plain_size };
	}
}

void api_asset(struct api_context *context, const struct http_request *request,
	       struct http_response *response)
{
	const struct ui_asset *asset = ui_asset_find(request->path);

	(void)context;
	if (asset)
		send_asset(request, response, asset);
	else
		http_response_error(response, 404,
				    "there is no '%s' here; docs/http-api.md lists every path",
				    request->path);
}

void api_page(struct api_context *context, const struct http_request *request,
	      struct http_response *response)
{
	api_asset(context, request, response);
}
