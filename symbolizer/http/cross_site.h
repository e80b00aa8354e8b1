/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Cross-site requests of browsers.
 *
 * A server that listens on loopback without tokens serves every program of the machine. A browser
 * is such a program, and it runs scripts of foreign sites. Two checks refuse their requests:
 *
 * - The Host header must name this machine. A page with a domain name that was rebound to 127.0.0.1
 *   (DNS rebinding) sends its domain name.
 * - A request that changes data must not be sent by another site's page (Origin header).
 */

#include "symbolizer/http/message.h"

/*
 * Returns NULL if @request is allowed, else the reason for the client. @loopback_only: the server
 * has no tokens and listens on loopback addresses only.
 */
const char *cross_site_objection(const struct http_request *request, bool loopback_only);
