// Proves that goroutines on several threads are limited together.
package main

import "runtime"

func main() {
	runtime.GOMAXPROCS(4)
	for range 3 {
		go spin()
	}
	spin()
}

func spin() {
	for {
	}
}
