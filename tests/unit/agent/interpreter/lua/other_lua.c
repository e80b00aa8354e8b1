/* SPDX-License-Identifier: Apache-2.0 */
/* A library with the text by which Lua is recognized: IDENT. */
extern const char lua_ident[];
const char lua_ident[64] = IDENT;
