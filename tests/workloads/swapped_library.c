/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A library with a configurable name of its function, so that two builds differ only in that name.
 */

unsigned long turn(unsigned long rounds);

__attribute__((noinline)) static unsigned long WORK(unsigned long rounds)
{
	volatile unsigned long sum = 0;

	for (unsigned long i = 0; i < rounds; i++)
		sum += i;
	return sum;
}

unsigned long turn(unsigned long rounds)
{
	return WORK(rounds) + 1;
}
