/* SPDX-License-Identifier: Apache-2.0 */

// A function of Go that return probes would kill: goroutines that begin with small stacks call
// it, grow them in it, and sleep in it, so that it goes on on other threads.
//
//	-> ready
//	<- go SECONDS   -> {"calls": [[before, begin, end, after, 0], ...]}: ns of
//	                   CLOCK_MONOTONIC before each call, at its begin, its end, and after it
//	<- end          the process ends
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"
)

type call [5]int64

func now() int64 {
	var t syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

//go:noinline
func deeper(left int, pad [64]byte) int {
	if left == 0 {
		return int(pad[0])
	}
	pad[left%64] = byte(left)
	return deeper(left-1, pad) + int(pad[left%64])
}

//go:noinline
func probed(number int, log *call) int {
	log[1] = now()
	sum := deeper(20*(number%20), [64]byte{})
	if number%20 == 7 {
		time.Sleep(6 * time.Millisecond)
	}
	if number%3 == 0 { // a second way out
		log[2] = now()
		return sum
	}
	sum += deeper(1, [64]byte{})
	log[2] = now()
	return sum * 2
}

func run(seconds int) []call {
	var calls []call
	for end := now() + int64(seconds)*1e9; now() < end; {
		done := make(chan call)
		go func(number int) {
			var log call
			log[0] = now()
			probed(number, &log)
			log[3] = now()
			done <- log
		}(len(calls))
		calls = append(calls, <-done)
		time.Sleep(2 * time.Millisecond)
	}
	return calls
}

// Others that allocate: the garbage collector looks at all stacks, too.
func allocate() {
	for kept := make([][]byte, 64); ; time.Sleep(time.Millisecond) {
		for i := range kept {
			kept[i] = make([]byte, 8192)
		}
	}
}

func main() {
	input := bufio.NewScanner(os.Stdin)
	go allocate()
	fmt.Println("ready")
	for input.Scan() && input.Text() != "end" {
		var seconds int
		fmt.Sscanf(input.Text(), "go %d", &seconds)
		text, _ := json.Marshal(map[string][]call{"calls": run(seconds)})
		fmt.Println(string(text))
	}
}
