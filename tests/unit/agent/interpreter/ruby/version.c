/* SPDX-License-Identifier: Apache-2.0 */
/* The version that CRuby exports, for test_find_ruby.c. */
extern const int ruby_api_version[3];
const int ruby_api_version[3] = { MAJOR, MINOR, 0 };
