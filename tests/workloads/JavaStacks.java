/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Java methods with known shares of the CPU time, one mode per kind of stack:
 *
 *   shares    sixty(), thirty() and ten() take 60, 30 and 10 %
 *   recursion descend() calls itself to a depth of 50, then work()
 *   lambda    run() calls sixty(), thirty() and ten() by lambda expressions
 *   copy      copy() spends nearly all its time in System.arraycopy()
 *
 * Usage: JavaStacks MODE. The language is that of Java 8.
 */
public class JavaStacks {
	static volatile double sink;

	static double spin(int rounds) {
		double x = 1;
		for (int i = 0; i < rounds; i++)
			x = x * 1.0000001 + 0.5 / (x + i);
		return x;
	}

	static void sixty() {
		sink = spin(60000);
	}

	static void thirty() {
		sink = spin(30000);
	}

	static void ten() {
		sink = spin(10000);
	}

	static void shares() {
		sixty();
		thirty();
		ten();
	}

	static void run(Runnable... runnables) {
		for (Runnable runnable : runnables)
			runnable.run();
	}

	static double work() {
		return spin(20000);
	}

	static double descend(int depth) {
		if (depth == 0)
			return work();
		return descend(depth - 1) + 1;
	}

	static void copy(byte[] from, byte[] to) {
		for (int i = 0; i < 64; i++)
			System.arraycopy(from, 0, to, 0, from.length);
	}

	public static void main(String[] arguments) {
		byte[] from = new byte[1 << 18];
		byte[] to = new byte[1 << 18];

		for (;;) {
			switch (arguments[0]) {
			case "shares":
				shares();
				break;
			case "recursion":
				sink = descend(50);
				break;
			case "lambda":
				run(() -> sixty(), () -> thirty(), () -> ten());
				break;
			default:
				copy(from, to);
			}
		}
	}
}
