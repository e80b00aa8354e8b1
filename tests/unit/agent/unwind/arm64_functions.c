/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Compiled for arm64 only, without a C library: a leaf function, calls, a large frame, and a frame
 * whose size is known only at run time.
 */

void outside(void *memory, unsigned long size);
unsigned long leaf(unsigned long a);
unsigned long caller(unsigned long a);
unsigned long large(unsigned long a);
unsigned long variable(unsigned long size);

unsigned long leaf(unsigned long a)
{
	return a * a + 1;
}

unsigned long caller(unsigned long a)
{
	unsigned long words[8] = { a };

	outside(words, sizeof(words));
	return words[0] > 7 ? caller(words[1]) + leaf(a) : words[2];
}

unsigned long large(unsigned long a)
{
	unsigned char bytes[100000];

	outside(bytes, a);
	return bytes[a % sizeof(bytes)];
}

unsigned long variable(unsigned long size)
{
	unsigned char *bytes = __builtin_alloca(size + 1);

	outside(bytes, size);
	return bytes[size];
}
