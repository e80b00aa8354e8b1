/* SPDX-License-Identifier: Apache-2.0 */

/* Something to have an identity. */
int main(void)
{
	return 0;
}
