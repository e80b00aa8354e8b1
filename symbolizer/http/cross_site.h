/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A server on loopback without tokens is open to every program of the machine - and a browser runs
 * programs of strangers. Two checks keep them out: the Host header must name this machine (a page
 * whose name was rebound to 127.0.0.1 sends its own name), and a request that changes something
 * must not come from another site's page.
 */

#include "symbolizer/http/message.h"

/*
 * NULL when @request may pass, else why not, for the client. @loopback_only: the server has no
 * tokens and listens on loopback addresses only.
 */
const char *cross_site_objection(const struct http_request *request, bool loopback_only);
