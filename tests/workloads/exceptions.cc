// SPDX-License-Identifier: Apache-2.0
//
// Throws C++ exceptions, one after the other, through 20 levels that each have an object to
// destroy:
//
//   exceptions [SECONDS]    default 10
//
// throw_one() is the innermost function, catch_one() the outermost one. Most of the time is spent
// in the unwinder of the C++ runtime, which calls back into the dynamic linker's list of files.
// Prints "ready" at the start.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "spin.h"

static volatile int destroyed;

struct Guard {
	~Guard() { destroyed = (destroyed + 1) % 1000; }
};

extern "C" {
VISIBLE void throw_one(int value);
VISIBLE void level(int left);
VISIBLE int catch_one(int value);
}

void throw_one(int value)
{
	throw std::runtime_error(value % 2 ? "odd" : "even");
}

void level(int left)
{
	Guard guard;

	// The compiler must not know that this never returns.
	if (left == 0 && destroyed >= 0)
		throw_one(destroyed);
	else if (left > 0)
		level(left - 1);
	destroyed = destroyed + 1;
}

int catch_one(int value)
{
	try {
		level(20);
	} catch (const std::exception &error) {
		return value + error.what()[0];
	}
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 1 ? strtoull(argv[1], nullptr, 10) : 10;
	uint64_t end_ns = clock_read_ns(CLOCK_MONOTONIC) + seconds * 1000000000u;
	int value = 0;

	puts("ready");
	(void)fflush(stdout);
	while (clock_read_ns(CLOCK_MONOTONIC) < end_ns)
		value = catch_one(value);
	return value == 1;
}
