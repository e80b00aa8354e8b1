/* SPDX-License-Identifier: Apache-2.0 */

/* One library with two names for its function, so that two of them differ in nothing but these. */

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
