/* SPDX-License-Identifier: Apache-2.0 */

// Goroutines that make slow system calls at the end of known chains of functions.
//
//	-> ready
//	<- CHAIN MS   -> done: the chain was gone through by a goroutine, whose call took MS
//	              milliseconds
//	<- end        the process ends
//
// CHAIN is one of the chains below.
package main

// For a program that is mapped anywhere all that is imported is compiled, so it is little.
import (
	"runtime"
	"sort"
	"syscall"
)

type ladder struct{ left int }

//go:noinline
func slow(ms int) {
	time := syscall.NsecToTimespec(int64(ms) * 1e6)
	syscall.Nanosleep(&time, nil)
	runtime.KeepAlive(ms)
}

//go:noinline
func plain(ms int) {
	slow(ms)
	runtime.KeepAlive(ms)
}

// A method, with a large frame: the stack has to grow for it.
//
//go:noinline
func (l *ladder) climb(ms int) int {
	var room [300]int
	room[l.left] = ms
	if l.left--; l.left > 0 {
		l.climb(ms)
	} else {
		slow(ms)
	}
	return room[0] + l.left
}

// Called back by the library.
//
//go:noinline
func sorted(ms int) {
	slept := false
	sort.Slice([]int{2, 1}, func(i, j int) bool {
		if !slept {
			slept = true
			slow(ms)
		}
		return i < j
	})
	runtime.KeepAlive(ms)
}

//go:noinline
func deferred(ms int) {
	defer func() {
		slow(ms)
		recover()
	}()
	panic("on the way out")
}

// A fault, which a signal's handler makes look like a call.
//
//go:noinline
func faulting(ms int, nowhere *ladder) {
	defer func() {
		slow(ms)
		recover()
	}()
	nowhere.left = ms
}

//go:noinline
func fault(ms int) {
	faulting(ms, nil)
	runtime.KeepAlive(ms)
}

//go:noinline
func climbing(ms int) {
	(&ladder{12}).climb(ms)
	runtime.KeepAlive(ms)
}

var chains = map[string]func(int){
	"plain": plain, "climbing": climbing, "sorted": sorted, "deferred": deferred,
	"fault": fault,
}

//go:noinline
func begin(chain func(int), ms int, done chan bool) {
	chain(ms)
	done <- true
}

func say(text string) {
	syscall.Write(1, []byte(text+"\n"))
}

// The words of the next line: a chain and a number; none at the end.
func command() (string, int) {
	var line []byte
	letter := make([]byte, 1)
	for {
		n, err := syscall.Read(0, letter)
		if err == syscall.EINTR {
			continue
		}
		if n < 1 || letter[0] == '\n' {
			break
		}
		line = append(line, letter[0])
	}
	for at, c := range line {
		if c == ' ' {
			ms := 0
			for _, digit := range line[at+1:] {
				ms = ms*10 + int(digit-'0')
			}
			return string(line[:at]), ms
		}
	}
	return "", 0
}

func main() {
	say("ready")
	for chain, ms := command(); chains[chain] != nil; chain, ms = command() {
		done := make(chan bool)
		go begin(chains[chain], ms, done)
		<-done
		say("done")
	}
}
