// SPDX-License-Identifier: Apache-2.0

// Two goroutines compute: one in C functions called by Go (on another stack), one in a Go function
// called back by C. A third goroutine grows its stack and produces garbage.
package main

/*
static volatile unsigned long sum;

__attribute__((noinline)) static void c_leaf(int n)
{
	for (int i = 0; i < n; i++)
		sum += i;
}

__attribute__((noinline)) static void c_work(int n)
{
	c_leaf(n);
	sum++;
}

extern void goCallback(int n);

__attribute__((noinline)) static void c_calls_back(int n)
{
	goCallback(n);
	sum++;
}
*/
import "C"

import (
	"os"
	"strconv"
	"time"
)

var total int

//go:noinline
func spinInGo(n int) {
	for i := 0; i < n; i++ {
		total += i ^ (total >> 3)
	}
}

//export goCallback
func goCallback(n C.int) { spinInGo(int(n)) }

//go:noinline
func callsC() { C.c_work(3000000) }

//go:noinline
func isCalledBack() { C.c_calls_back(3000000) }

//go:noinline
func recurse(depth int) int {
	var page [512]byte
	page[depth%512] = 1
	if depth == 0 {
		return int(page[7])
	}
	return recurse(depth-1) + int(page[9])
}

//go:noinline
func growsStacks() {
	done := make(chan int)
	go func() { done <- recurse(200) }()
	<-done
}

func main() {
	seconds, _ := strconv.Atoi(os.Args[1])
	go func() {
		for {
			callsC()
		}
	}()
	go func() {
		for {
			isCalledBack()
		}
	}()
	go func() {
		for {
			growsStacks()
		}
	}()
	time.Sleep(time.Duration(seconds) * time.Second)
}
