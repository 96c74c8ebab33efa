// Proves that goroutines on several threads work and that the garbage is collected: 400 MiB go through a limit of 64.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"sync"
)

func main() {
	in := bufio.NewReader(os.Stdin)
	var n int
	fmt.Fscan(in, &n)
	numbers := make(chan int64)
	sums := make([]int64, 8)
	var wg sync.WaitGroup
	for i := range sums {
		wg.Go(func() {
			runtime.LockOSThread() // a thread each
			for range 50 {
				garbage := make([]byte, 1<<20)
				garbage[i] = 1
			}
			for x := range numbers {
				sums[i] += x
			}
		})
	}
	for range n {
		var x int64
		fmt.Fscan(in, &x)
		numbers <- x
	}
	close(numbers)
	wg.Wait()
	var total int64
	for _, s := range sums {
		total += s
	}
	fmt.Println(total)
}
