/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A program to upload. It has two functions, so that the line table has several rows.
 */

static int twice(int value)
{
	return 2 * value;
}

int main(int argc, char **argv)
{
	(void)argv;
	return twice(argc) - 2;
}
