<?php
# SPDX-License-Identifier: Apache-2.0
# Waits in a stack of functions that test_php_code.c reads.
namespace Shop;

class Prices
{
    public static function wait(int $seconds): void
    {
        sleep($seconds);
    }
}

function café(callable $f): void
{
    $f();
}

$anonymous = new class () {
    public function run(): void
    {
        café(function () {
            eval('\Shop\Prices::wait(60);');
        });
    }
};
array_map(fn ($x) => $x->run(), [$anonymous]);
