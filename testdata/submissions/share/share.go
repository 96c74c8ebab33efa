// Share does as many ms of work as its second argument says, in the way that the first one names, as share.c does.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

func work(d time.Duration) {
	runtime.LockOSThread()
	var begin, now syscall.Rusage
	const rusageThread = 1
	syscall.Getrusage(rusageThread, &begin)
	used := func(r syscall.Rusage) int64 { return r.Utime.Nano() + r.Stime.Nano() }
	for used(now)-used(begin) < int64(d) {
		for range 100000 {
		}
		syscall.Getrusage(rusageThread, &now)
	}
}

func child(group bool) {
	c := exec.Command(os.Args[0], "first", os.Args[2])
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: group}
	if err := c.Run(); err != nil {
		panic(err)
	}
}

func main() {
	ms, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	all := time.Duration(ms) * time.Millisecond
	switch os.Args[1] {
	case "first":
		work(all)
	case "threads":
		var w sync.WaitGroup
		for range 4 {
			w.Add(1)
			go func() {
				defer w.Done()
				work(all / 4)
			}()
		}
		w.Wait()
	case "child":
		child(false)
	case "groups":
		child(true)
	}
	if os.Args[1] != "first" {
		fmt.Println("ok")
	}
}
