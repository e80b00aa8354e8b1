/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A C program that contains Lua, as a server does: runs a script in a coroutine. Arguments: the
 * script, and its arguments.
 */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>

#if LUA_VERSION_NUM >= 504
static int resume(lua_State *thread, int n_arguments)
{
	int n_results;

	return lua_resume(thread, NULL, n_arguments, &n_results);
}
#elif LUA_VERSION_NUM >= 502
#define resume(thread, n_arguments) lua_resume(thread, NULL, n_arguments)
#else
#define resume(thread, n_arguments) lua_resume(thread, n_arguments)
#endif

int main(int argc, char **argv)
{
	lua_State *state = luaL_newstate(), *thread;

	if (argc < 2 || !state)
		return 2;
	luaL_openlibs(state);
	thread = lua_newthread(state);
	if (luaL_loadfile(thread, argv[1]) != 0) {
		(void)fprintf(stderr, "%s\n", lua_tostring(thread, -1));
		return 1;
	}
	for (int i = 2; i < argc; i++)
		lua_pushstring(thread, argv[i]);
	if (resume(thread, argc - 2) != 0) {
		(void)fprintf(stderr, "%s\n", lua_tostring(thread, -1));
		return 1;
	}
	lua_close(state);
	return 0;
}
