// Proves that threads are limited together.
use std::hint::spin_loop;
use std::thread;

fn main() {
    for _ in 0..3 {
        thread::spawn(|| loop { spin_loop() });
    }
    loop {
        spin_loop()
    }
}
