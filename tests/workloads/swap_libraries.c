/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Loads a library, computes in it, unloads it, and loads another one, which the kernel maps to the
 * same address. Repeats this.
 *
 *   swap_libraries SECONDS LIBRARY_A LIBRARY_B      exits with 3 if the addresses differ
 *
 * below_a() calls only code of the first library, below_b() only code of the second one.
 */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TURN_NS 300000000ull

typedef unsigned long (*turn_function)(unsigned long rounds);

static unsigned long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long long)now.tv_sec * 1000000000ull + (unsigned long long)now.tv_nsec;
}

__attribute__((noinline)) static unsigned long below_a(turn_function turn)
{
	return turn(100000) + 1;
}

__attribute__((noinline)) static unsigned long below_b(turn_function turn)
{
	return turn(100000) + 2;
}

/* Runs @path through @below. Returns the address of its code. */
static void *take_turn(const char *path, unsigned long (*below)(turn_function))
{
	unsigned long long end_ns = now_ns() + TURN_NS;
	void *library = dlopen(path, RTLD_NOW);
	turn_function turn;

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	turn = (turn_function)dlsym(library, "turn");
	while (now_ns() < end_ns)
		below(turn);
	dlclose(library);
	return (void *)turn;
}

int main(int argc, char **argv)
{
	unsigned long long end_ns;

	if (argc != 4)
		return 1;
	end_ns = now_ns() + strtoull(argv[1], NULL, 10) * 1000000000ull;
	while (now_ns() < end_ns) {
		if (take_turn(argv[2], below_a) != take_turn(argv[3], below_b))
			return 3;
	}
	return 0;
}
