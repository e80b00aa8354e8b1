<?php
# SPDX-License-Identifier: Apache-2.0
#
# A script with known stacks: php_stacks.php MODE FILE. It ends when FILE exists.
#
#   shares   three functions that use 60, 30 and 10 % of the CPU time. At the end it prints the shares that getrusage() measured.
#   calls    equal parts: 50 levels of recursion, methods, closures that usort() and array_map() call, generators, destructors,
#            and code of eval(). At the beginning it prints each stack once as debug_backtrace() finds it.
#   short    callbacks and generators that do almost nothing
#   native   md5() in a function
declare(strict_types=1);

const LEVELS = 50;

$end = $argv[2];

function spin(int $n): int
{
    global $traces;
    if ($traces) {
        trace();
    }
    $total = 0;
    for ($i = 0; $i < $n; $i++) {
        $total += $i * $i % 7;
    }
    return $total;
}

# Prints the functions that are executed and their lines, innermost first, without spin().
function trace(): void
{
    $labels = [];
    $frames = debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS);
    for ($i = 1; $i < count($frames); $i++) {
        $caller = $frames[$i + 1] ?? ['function' => '{main}'];
        # Callers of callbacks are internal functions, which have no line.
        if (!isset($frames[$i]['line'])) {
            continue;
        }
        $name = $caller['function'] === 'eval' ? '{eval}' : preg_replace('/\\{closure.*/', '{closure}', $caller['function']);
        $class = isset($caller['class']) ? $caller['class'] . '::' : '';
        $labels[] = sprintf('%s%s (%s:%d)', $class, $name, basename($frames[$i]['file']), $frames[$i]['line']);
    }
    print(implode('<', $labels) . "\n");
}

function sixty(int $n): int
{
    $total = 0;
    for ($i = 0; $i < 6 * $n; $i++) {
        $total += $i * $i % 7;
    }
    return $total;
}

function thirty(int $n): int
{
    $total = 0;
    for ($i = 0; $i < 3 * $n; $i++) {
        $total += $i * $i % 7;
    }
    return $total;
}

function ten(int $n): int
{
    $total = 0;
    for ($i = 0; $i < 1 * $n; $i++) {
        $total += $i * $i % 7;
    }
    return $total;
}

# CPU time of this process in microseconds.
function cpu_us(): int
{
    $usage = getrusage();
    return 1000000 * ($usage['ru_utime.tv_sec'] + $usage['ru_stime.tv_sec']) + $usage['ru_utime.tv_usec']
        + $usage['ru_stime.tv_usec'];
}

function shares(): void
{
    global $end;
    $times = ['sixty' => 0, 'thirty' => 0, 'ten' => 0];
    while (!file_exists($end)) {
        for ($i = 0; $i < 20; $i++) {
            foreach (array_keys($times) as $function) {
                $start = cpu_us();
                $function(20000);
                $times[$function] += cpu_us() - $start;
            }
        }
        clearstatcache();
    }
    foreach ($times as $function => $us) {
        printf("%s %.2f\n", $function, 100 * $us / array_sum($times));
    }
}

function descend(int $levels): int
{
    if ($levels > 1) {
        return descend($levels - 1);
    }
    return spin(20000);
}

class Shop
{
    private array $prices = [5, 3, 9, 1, 7];

    public function price(int $n): int
    {
        return spin($n);
    }

    public static function total(int $n): int
    {
        return (new Shop())->price($n);
    }

    public function sorted(): array
    {
        usort($this->prices, function (int $a, int $b): int {
            return spin(2000) * 0 + $a <=> $b;
        });
        return array_map(fn (int $price): int => spin(2000) + $price, $this->prices);
    }
}

class Temporary
{
    public function __destruct()
    {
        spin(20000);
    }
}

function numbers(): Generator
{
    for ($i = 0; $i < 10; $i++) {
        yield spin(2000);
    }
}

function consume(): int
{
    $total = 0;
    foreach (numbers() as $number) {
        $total += $number;
    }
    return $total;
}

function destroys(): void
{
    $temporary = new Temporary();
}

function evaluates(): int
{
    return eval('return spin(20000);');
}

function calls(): void
{
    global $end, $traces;
    $shop = new Shop();
    $traces = true;
    while (!file_exists($end)) {
        for ($i = 0; $i < 20; $i++) {
            descend(LEVELS);
            Shop::total(20000);
            $shop->sorted();
            consume();
            destroys();
            evaluates();
            $traces = false;
        }
        clearstatcache();
    }
}

function compare(array $a, array $b): int
{
    return $a[0] <=> $b[0];
}

function objects(int $n): Generator
{
    for ($i = 0; $i < $n; $i++) {
        $object = new stdClass();
        yield $object;
    }
}

function short(): void
{
    global $end;
    $pairs = [];
    for ($i = 0; $i < 500; $i++) {
        $pairs[] = [$i * 7919 % 1000, "text $i"];
    }
    while (!file_exists($end)) {
        for ($i = 0; $i < 20; $i++) {
            $sorted = $pairs;
            usort($sorted, 'compare');
            foreach (objects(3000) as $object) {
                unset($object);
            }
        }
        clearstatcache();
    }
}

function hashes(string $text): string
{
    return md5($text);
}

function native(): void
{
    global $end;
    $text = str_repeat('x', 100000);
    while (!file_exists($end)) {
        for ($i = 0; $i < 100; $i++) {
            hashes($text);
        }
        clearstatcache();
    }
}

$argv[1]();
