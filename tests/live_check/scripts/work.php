<?php
// SPDX-License-Identifier: Apache-2.0
// Work for a PHP interpreter.
function fibonacci(int $n): int
{
	return $n < 2 ? $n : fibonacci($n - 1) + fibonacci($n - 2);
}

while (true) {
	fibonacci(20);
	$numbers = [];
	for ($i = 0; $i < 5000; $i++)
		$numbers[] = ($i * 7919) % 10007;
	usort($numbers, fn($a, $b) => $a <=> $b);
	$text = json_encode(array_map(fn($n) => ['n' => $n, 's' => md5((string)$n)], $numbers));
	json_decode($text, true);
	preg_replace_callback('/[0-9a-f]{4}/', fn($m) => strrev($m[0]), $text);
	gzcompress($text, 6);
}
