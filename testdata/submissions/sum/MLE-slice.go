// Proves that the heap of a Go program is memory of the run.
package main

import "fmt"

func main() {
	var n int
	var x, sum int64
	fmt.Scan(&n)
	for range n {
		fmt.Scan(&x)
		sum += x
	}
	var blocks [][]byte
	for range 512 {
		b := make([]byte, 1<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		blocks = append(blocks, b)
	}
	fmt.Println(sum + int64(len(blocks)) - 512)
}
