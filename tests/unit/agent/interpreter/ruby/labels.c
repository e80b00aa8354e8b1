/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that jump by a table of addresses, for test_loop_table.c: loop() with 90 labels, or 190
 * with MANY, and other() with 90. There is also a table of the addresses of functions.
 */
#define TEN(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7) X(n##8) X(n##9)
#define NINETY(X)                                                                                  \
	TEN(X, 1) TEN(X, 2) TEN(X, 3) TEN(X, 4) TEN(X, 5) TEN(X, 6) TEN(X, 7) TEN(X, 8) TEN(X, 9)
#define HUNDREDS(X)                                                                                \
	TEN(X, 10)                                                                                 \
	TEN(X, 11)                                                                                 \
	TEN(X, 12) TEN(X, 13) TEN(X, 14) TEN(X, 15) TEN(X, 16) TEN(X, 17) TEN(X, 18) TEN(X, 19)

#define ADDRESS(n) &&label_##n,
#define CODE(n)                                                                                    \
	label_##n : value = value * 31 + n;                                                        \
	goto *table[*code++ % (sizeof(table) / sizeof(table[0]))];

unsigned int loop(const unsigned char *code);
unsigned int other(const unsigned char *code);
unsigned int call(unsigned int number);

#if defined(MANY)
#define ALL(X) NINETY(X) HUNDREDS(X)
#else
#define ALL(X) NINETY(X)
#endif

unsigned int loop(const unsigned char *code)
{
	static const void *const table[] = { ALL(ADDRESS) && end };
	unsigned int value = 0;

	goto *table[*code++ % (sizeof(table) / sizeof(table[0]))];
	ALL(CODE)
end:
	return value;
}

unsigned int other(const unsigned char *code)
{
	static const void *const table[] = { NINETY(ADDRESS) && end };
	unsigned int value = 0;

	goto *table[*code++ % (sizeof(table) / sizeof(table[0]))];
	NINETY(CODE)
end:
	return value + 1;
}

#define FUNCTION(n)                                                                                \
	static unsigned int function_##n(void)                                                     \
	{                                                                                          \
		return n;                                                                          \
	}
HUNDREDS(FUNCTION)
NINETY(FUNCTION)

#define NAME(n) function_##n,

unsigned int call(unsigned int number)
{
	static unsigned int (*const functions[])(void) = { HUNDREDS(NAME) NINETY(NAME) };

	return functions[number % (sizeof(functions) / sizeof(functions[0]))]();
}
